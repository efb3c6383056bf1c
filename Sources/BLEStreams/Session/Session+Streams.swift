import BLEProtocol
import BLERadio

extension Session {
    /// A value of one of a session's planned subscriptions.
    public struct Value: Sendable {
        /// The session that received it.
        public let session: Session
        /// The subscription of the plan that it belongs to.
        public let subscription: Session.Subscription
        /// The value.
        public let value: CharacteristicValue

        /// The peripheral that sent it.
        public var peripheral: Peripheral? { session.peripheral }
    }
}

extension Session {
    /// The values of all subscriptions of the plan, in the order of arrival, each with its subscription.
    ///
    /// End and errors are those of
    /// ``CharacteristicAccess/notifications(of:indications:buffer:)->BLEStream<Key.Value>``. A plan without
    /// subscriptions has none: the stream ends at once.
    public var values: BLEStream<Session.Value> {
        let reference = SessionReference(self)
        return plan.subscriptions.map { subscription in
            notifications(of: subscription.characteristic, indications: subscription.indications).compactMap { value in
                reference.session.map { Session.Value(session: $0, subscription: subscription, value: value) }
            }
        }
        .merged()
    }

    /// The values that a characteristic sends, over all links of the session. See ``CharacteristicAccess``.
    public func octets(
        of characteristic: CharacteristicReference,
        readingFirst readsFirst: Bool,
        indications: Bool,
        buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue> {
        let subscription = Session.Subscription(characteristic, indications: indications)
        let (channels, session) = (channels, SessionReference(self))
        let operation = readsFirst ? "values" : "notifications"
        let subject = StreamSubject(operation: operation, object: "of \(subscription) of \(self)")
        let isHandedOn = !readsFirst && plan.subscriptions.contains(subscription)
        let suffix: @Sendable (CharacteristicValue, Int) -> CharacteristicValue = { $0.suffix(of: $1) }
        return BLEStream(subject, timeline: core.timeline, buffer: buffer, suffix: isHandedOn ? suffix : nil) {
            (mailbox: Mailbox<CharacteristicValue>, place: ConsumerPlace?) -> () -> Void in
            if let session = session.session, !channels.isOn(subscription) {
                do throws(BLEError) {
                    try session.refuseToWait(for: operation)
                } catch {
                    mailbox.finish(throwing: error)
                    return {}
                }
            }
            guard readsFirst else {
                return mailbox.takeOver { channels.add(subscription, SessionConsumer(mailbox, at: place)) }
            }
            let reading = RepeatedReading(of: characteristic.selector, session, mailbox)
            let remove = channels.add(subscription, reading.consumer)
            return {
                remove()
                reading.stop()
            }
        }
    }
}

extension CharacteristicValue {
    /// The value with only as many octets at its end.
    fileprivate func suffix(of count: Int) -> CharacteristicValue {
        CharacteristicValue(bytes: bytes.suffix(count), time: time, isIndication: isIndication)
    }
}
