import BLEProtocol
import BLERadio

extension Link {
    /// Subscribes to a characteristic, and waits until the peer has confirmed that.
    ///
    /// - Parameters:
    ///   - limit: how long to wait for that, and the error on expiry.
    ///   - deliver: receives each value, in order, on the radio's context.
    ///   - missed: called where values were dropped before they arrived here, or may be missing: also where the
    ///     services have changed, whether or not the subscription was made anew.
    ///   - ended: called once when the values of a confirmed subscription end because of the link or the peer; without
    ///     an error if this side closed.
    /// - Returns: a closure that unsubscribes.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool = false,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
        deliver: @escaping @Sendable (CharacteristicValue) -> Void,
        missed: @escaping @Sendable () -> Void = {},
        ended: @escaping @Sendable (BLEError?) -> Void = { _ in }
    ) async throws -> @Sendable () -> Void {
        let object = "of \(selector) of \(peripheral)"
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: "notifications", object: object) }
        let closed = BLEError.linkEnded(
            DisconnectReason(.closedLocally),
            operation: "notifications",
            object: object
        )
        return try await reply(on: timeline, limit: limit) { finish in
            let (subscription, confirmation) = (Ending<Void>(), Ending<Void>())
            let consumer = ValueConsumer(
                object: object,
                deliver: { for value in $0 { deliver(value) } },
                lost: { _ in missed() },
                mayLack: missed,
                withheld: missed,
                finish: { error in
                    finish(.failure(error ?? closed))
                    if confirmation.hasEnded { ended(error) }
                },
                moved: missed,
                armed: {
                    confirmation.end()
                    finish(.success { subscription.end() })
                },
                answers: whoAnswers
            )
            subscription.undo(bearer.subscribe(selector, indications: indications, pass: pass, consumer))
            return { subscription.end() }
        }
    }
}
