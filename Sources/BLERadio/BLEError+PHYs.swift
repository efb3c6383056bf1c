package import BLEProtocol

extension BLEError {
    /// The radio has no modulations to tell of.
    static func knowsNoPHYs(_ adapter: String, operation: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: adapter,
            cause: "this radio knows of no PHYs",
            remedy: "Use an adapter of this machine, or a simulated one."
        )
    }

    /// The controller can't do what was asked for.
    ///
    /// - Parameter adapter: what it is called.
    package static func physNotSupported(_ wish: PHYSelection, by adapter: String, _ phys: AdapterPHYs) -> BLEError {
        BLEError(
            .notSupported,
            operation: "select PHYs",
            object: adapter,
            cause: "its controller can't do \(wish.subtracting(phys.supported)); it can do \(phys.supported)",
            remedy: "Leave that out, or use an adapter of Bluetooth 5 whose controller has it."
        )
    }
}
