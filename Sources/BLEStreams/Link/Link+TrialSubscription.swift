package import BLEProtocol

extension Link {
    /// Subscribes to a characteristic and unsubscribes at once, to test whether the peripheral permits it.
    package func subscribeBriefly(
        to characteristic: Characteristic,
        indications: Bool,
        timeout: Duration?
    ) async throws {
        let limit = timeout ?? .seconds(30)
        let object = "of \(characteristic.uuid) of \(peripheral)"
        let error: @Sendable () -> any Error = {
            BLEError.timedOut("subscribe", object: object, after: limit, waitingFor: "no answer came")
        }
        let unsubscribe = try await subscribe(
            .exactly(characteristic),
            indications: indications,
            limit: (limit, error),
            deliver: { _ in }
        )
        unsubscribe()
    }
}
