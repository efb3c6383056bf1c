package import BLEProtocol

extension BLEError {
    /// The program has switched off the adapter that it uses.
    ///
    /// - Parameter adapter: its name.
    package static func switchedOffHere(_ adapter: String, operation: String, object: String) -> BLEError {
        BLEError(
            .adapterPoweredOff,
            operation: operation,
            object: object,
            cause: "this program itself has switched off \(adapter): by the power cycle of its recovery plan, or by "
                + "`Central.setPowered(false)`",
            remedy: "Try again when `Central.adapterStates` reports that it is on; a recovery plan does so at once."
        )
    }
}
