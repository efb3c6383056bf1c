package import BLEProtocol

extension BLEError {
    /// The radio doesn't report PHYs.
    static func knowsNoPHYs(_ adapter: String, operation: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: "of \(adapter)",
            cause: "this radio doesn't support PHY selection",
            remedy: "Use an adapter of this machine, or a simulated one."
        )
    }

    /// The controller doesn't support the requested PHYs.
    ///
    /// - Parameter adapter: its name.
    package static func physNotSupported(_ wish: AdapterPHYs.Selection, by adapter: String, _ phys: AdapterPHYs)
        -> BLEError
    {
        BLEError(
            .notSupported,
            operation: "select PHYs",
            object: "of \(adapter)",
            cause: "its controller doesn't support \(wish.subtracting(phys.supported)); it supports \(phys.supported)",
            remedy: "Leave out the unsupported PHYs, or use a Bluetooth 5 adapter whose controller supports them."
        )
    }
}
