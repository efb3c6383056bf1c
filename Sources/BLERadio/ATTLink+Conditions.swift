public import BLEProtocol

// What a link knows whose radio tells nothing of its conditions. They are optional for a radio of one's own.
extension ATTLink {
    /// Knows the signal strength.
    public func readConditions(_ result: @escaping @Sendable (LinkConditions) -> Void) {
        readRSSI { rssi in
            var conditions = LinkConditions()
            conditions.rssi = rssi.map(Int.init)
            result(conditions)
        }
    }

    /// Tells nothing.
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
                    remedy: "Say the parameters when connecting."
                )
            )
        )
    }
}
