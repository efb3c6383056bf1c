package import BLEProtocol

extension BLEError {
    /// What the program does to itself: it has switched off the adapter that it uses.
    ///
    /// - Parameter adapter: what it is called.
    package static func switchedOffHere(_ adapter: String, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterPoweredOff,
            operation: operation,
            object: object,
            cause: "this program has switched off \(adapter) itself: by the power cycle of its recovery plan, or with "
                + "`Central.setPowered(false)`",
            remedy: "Begin again when `Central.adapterStates` tells that it is on; a recovery plan does that at once."
        )
    }
}
