import BLEProtocol
import BLERadio

extension Link {
    /// Switches the values of a characteristic on, and waits until the peer has said that it sends them.
    ///
    /// - Parameters:
    ///   - limit: how long to wait for that, and the error to throw then.
    ///   - deliver: takes each value, in order, on the radio's context.
    ///   - lost: hears of values that were dropped before they came here.
    ///   - ended: called once when no more come because of the link or the peer; without an error when this side closed.
    /// - Returns: a closure that switches them off again.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool = false,
        limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
        deliver: @escaping @Sendable (CharacteristicValue) -> Void,
        lost: @escaping @Sendable (Int) -> Void = { _ in },
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
            let subscription = Ending<Void>()
            let consumer = ValueConsumer(
                object: object,
                deliver: { for value in $0 { deliver(value) } },
                lost: lost,
                finish: { error in
                    finish(.failure(error ?? closed))
                    ended(error)
                },
                armed: { finish(.success { subscription.end() }) },
                answers: whoAnswers
            )
            subscription.undo(bearer.subscribe(selector, indications: indications, pass: pass, consumer))
            return { subscription.end() }
        }
    }
}
