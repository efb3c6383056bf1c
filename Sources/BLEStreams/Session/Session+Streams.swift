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
    /// A subscription that the plan has twice has each value once. A stream may be left and a new one begun, as with
    /// the values of one subscription: the next one begins with what was kept of each, subscription after subscription.
    ///
    /// ``BLEStream/withGaps()`` shows a break of the link once, before the first subscription that is made again; what
    /// was kept has it in each subscription.
    ///
    /// End and errors are those of
    /// ``CharacteristicAccess/notifications(of:indications:buffer:)->BLEStream<Key.Value>``. A plan without
    /// subscriptions has none: the stream ends at once.
    public var values: BLEStream<Session.Value> {
        let (channels, subscriptions, reference) = (channels, plan.distinctSubscriptions, SessionReference(self))
        let subject = StreamSubject(operation: "values", object: "of \(self)")
        let suffix: @Sendable (Session.Value, Int) -> Session.Value = { $0.suffix(of: $1) }
        return BLEStream(subject, timeline: core.timeline, buffer: .standard, suffix: suffix) {
            (mailbox: Mailbox<Session.Value>, _: ConsumerPlace?) -> () -> Void in
            guard !subscriptions.isEmpty, let session = reference.session else {
                mailbox.finish()
                return {}
            }
            do throws(BLEError) {
                if !subscriptions.allSatisfy({ channels.isOn($0) }) { try session.refuseToWait(for: "values") }
            } catch {
                mailbox.finish(throwing: error)
                return {}
            }
            // One buffer for all: streams of their own would be taken from in turns, whatever came first.
            let rest = SessionValuesRest(of: mailbox)
            let close = session.addConsumer(mailbox, rest) { mailbox.finish(throwing: $0) }
            return {
                close()
                rest.finish()
            }
        }
    }

    /// Adds a consumer of the values of all planned subscriptions; the returned closure removes it.
    ///
    /// - Parameter finish: the values have ended; `nil` for a consumer that outlives a failure of the session.
    func addConsumer(
        _ mailbox: Mailbox<Session.Value>,
        _ rest: SessionValuesRest,
        finish: (@Sendable ((any Error)?) -> Void)? = nil
    ) -> @Sendable () -> Void {
        let parts = plan.distinctSubscriptions.map { subscription in
            let consumer = SessionConsumer(mailbox, of: self, subscription, rest, finish: finish)
            return (subscription: subscription, consumer: consumer)
        }
        return mailbox.takeOver { channels.add(parts) }
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

extension Session.Value {
    /// The value with only as many octets at its end.
    func suffix(of count: Int) -> Session.Value {
        Session.Value(session: session, subscription: subscription, value: value.suffix(of: count))
    }
}

extension Session.Plan {
    /// The subscriptions, each once: a program may make a plan of parts that name the same one.
    fileprivate var distinctSubscriptions: [Session.Subscription] {
        var seen: Set<Session.Subscription> = []
        return subscriptions.filter { seen.insert($0).inserted }
    }
}

extension CharacteristicValue {
    /// The value with only as many octets at its end.
    fileprivate func suffix(of count: Int) -> CharacteristicValue {
        CharacteristicValue(bytes: bytes.suffix(count), time: time, isIndication: isIndication)
    }
}
