public import BLEProtocol
import BLERadio
import Synchronization

extension PeripheralServer {
    /// A central has subscribed to a characteristic or unsubscribed from it.
    public struct SubscriptionChange: Sendable {
        /// The kind of the subscription.
        public enum Kind: Hashable, Sendable {
            /// Nothing: it has unsubscribed.
            case none
            /// Notifications.
            case notify
            /// Indications.
            case indicate
        }

        /// The central.
        public let central: ConnectedCentral

        /// The ``LocalCharacteristic/id`` of the characteristic.
        public let characteristic: String

        /// The kind of the subscription.
        public let kind: Kind

        /// The handle of its value.
        let handle: UInt16

        /// Whether the central is subscribed.
        public var isSubscribed: Bool { kind != .none }
    }

    /// A central's read of a dynamic value; the central waits for the answer.
    ///
    /// Answer once, within 20 s. A request that is released without an answer, or takes longer, is refused with
    /// Unlikely Error, so that the central doesn't wait in vain, and the `warning` of
    /// ``LocalPeripheral/run(on:store:warning:_:)`` reports it.
    public struct ReadRequest: Sendable {
        /// The central that reads.
        public let central: ConnectedCentral

        /// The ``LocalCharacteristic/id`` of the characteristic.
        public let characteristic: String

        let read: ATTServer.PendingRead
        let answer: PendingAnswer

        /// Answers with the whole value; a long one is sent in the parts that the central reads, within 30 s of each
        /// other. Of those, only the first is a request.
        ///
        /// - Parameter value: 0 to 512 octets.
        /// - Throws: ``BLEError/Code/overflow`` if it is longer; the central keeps waiting for another answer.
        public func respond(_ value: some Collection<UInt8>) throws {
            guard value.count <= ATTLimits.maximumValueLength else {
                let limit = "Answer with at most 512 octets: the central still waits."
                throw BLEError.valueTooLong("respond", "of \(characteristic) to \(central)", limit: limit)
            }
            let octets = Array(value)
            // Before the central can ask for the next part.
            answer.give(.success(octets), before: { _ in central.keep(octets, read) })
        }

        /// Refuses the read.
        public func reject(_ error: ATTError) { answer.give(.failure(error)) }
    }

    /// A central has written a value.
    ///
    /// A stored value has already changed. A dynamic one waits for the program: accept or reject it once, within 20 s;
    /// a request that is released without an answer, or takes longer, is refused with Unlikely Error.
    public struct WriteRequest: Sendable {
        /// The central that writes.
        public let central: ConnectedCentral

        /// The ``LocalCharacteristic/id`` of the characteristic.
        public let characteristic: String

        /// The octets' offset in the value: 0 unless a long write wrote a part.
        public let offset: Int

        /// The octets.
        public let value: [UInt8]

        let answer: PendingAnswer?

        /// Whether the central waits for an answer.
        public var awaitsAnswer: Bool { answer != nil }

        /// Accepts the value. It has no effect if the central has been answered already, or was refused because it
        /// waited for 20 s; ``wasAccepted`` tells.
        ///
        /// ```swift
        /// for try await request in server.writes() {
        ///     request.accept()
        ///     // Otherwise the central may write it again.
        ///     if request.wasAccepted { print("applied: \(request.value)") }
        /// }
        /// ```
        public func accept() { answer?.give(.success([])) }

        /// Whether ``accept()`` has been called in time, while the link was up. If no central waits (``awaitsAnswer``
        /// is `false`), the value counts as accepted.
        public var wasAccepted: Bool { answer?.wasAccepted ?? true }

        /// Accepts the value; returns whether it counts: not if the central has already been refused, because it waited
        /// for too long. It may write the value again. It counts if the central has left: of that one nobody knows
        /// whether it writes it again.
        package func acceptInTime() -> Bool { answer?.give(.success([])) ?? true }

        /// Accepts the value if it is still to be accepted, and if the condition is met. Otherwise it is refused when it
        /// is released.
        func acceptInTime(if condition: () -> Bool) -> Bool {
            guard let answer else { return condition() }
            return answer.give(.success([]), if: condition)
        }

        /// Rejects the value.
        public func reject(_ error: ATTError) { answer?.give(.failure(error)) }
    }
}

/// An answer that a central waits for; given at most once, and at the latest when nothing can give it any more.
final class PendingAnswer: Sendable {
    private let bearer: Mutex<(bearer: Bearer, timer: RadioActivity?)?>
    private let accepted = Atomic(false)
    private let token: ATTServer.RequestToken
    private let onUnanswered: @Sendable (Duration?) -> Void

    /// - Parameter onUnanswered: called if the program has not answered: with the limit that has passed, or with `nil`
    ///   if it released the request.
    init(
        _ bearer: Bearer,
        _ token: ATTServer.RequestToken,
        onUnanswered: @escaping @Sendable (Duration?) -> Void
    ) {
        self.bearer = Mutex((bearer, nil))
        self.token = token
        self.onUnanswered = onUnanswered
        let timer = bearer.timeline.schedule(after: ClosureCalls.patience) { [weak self] in
            self?.refuse(after: ClosureCalls.patience)
        }
        self.bearer.withLock { $0?.timer = timer }
    }

    /// Whether there is no answer yet, and the link is up.
    var isOpen: Bool { bearer.withLock { $0?.bearer }.map { $0.end == nil } ?? false }

    /// Whether the first answer was not an error.
    var wasAccepted: Bool { accepted.load(ordering: .acquiring) }

    /// Answers, if nothing has answered before.
    ///
    /// - Parameters:
    ///   - before: called before the central gets the answer, if this is the first answer.
    ///   - condition: asked if this would be the first answer, while no other one can come; if it isn't met, there is
    ///     no answer yet.
    /// - Returns: whether this is the first answer.
    @discardableResult
    func give(
        _ result: Result<[UInt8], ATTError>,
        before: (Bearer) -> Void = { _ in },
        if condition: () -> Bool = { true }
    ) -> Bool {
        let first = bearer.withLock { bearer -> (bearer: Bearer, timer: RadioActivity?)? in
            guard bearer != nil, condition() else { return nil }
            let first = bearer.take()
            // Under the lock: whoever comes second finds it.
            if let first, first.bearer.end == nil, case .success = result { accepted.store(true, ordering: .releasing) }
            return first
        }
        guard let (bearer, timer) = first else { return false }
        timer?.cancel()
        before(bearer)
        bearer.respond(to: token, with: result)
        return true
    }

    func refuse(after patience: Duration?) {
        give(.failure(.unlikely)) { bearer in
            // On a link that has ended, nobody waits for an answer.
            if bearer.end == nil { onUnanswered(patience) }
        }
    }

    deinit { refuse(after: nil) }
}
