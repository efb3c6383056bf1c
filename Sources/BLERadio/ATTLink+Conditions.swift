public import BLEProtocol

// Defaults for a radio that doesn't report link conditions; a custom radio may leave these functions out.
extension ATTLink {
    /// Reports the signal strength only.
    public func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) {
        readRSSI { rssi in
            var conditions = LinkConditions()
            conditions.rssi = rssi.map(Int.init)
            result(conditions)
        }
    }

    /// Reports nothing.
    public func observeConditions(_ events: @escaping @Sendable (LinkConditions) -> Void) -> RadioActivity {
        RadioActivity {}
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func request(
        _ parameters: ConnectionParameters,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        result(
            .failure(
                BLEError(
                    .notSupported,
                    operation: "change connection parameters",
                    object: "of the link to \(peer)",
                    cause: "this radio can't change a link that is up",
                    remedy: "Pass the parameters when connecting."
                )
            )
        )
    }
}
