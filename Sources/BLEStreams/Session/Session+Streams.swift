public import BLEProtocol
import BLERadio

/// A value of one of a session's planned subscriptions.
public struct SessionValue: Sendable {
    /// Which subscription of the plan sent it.
    public let subscription: SessionSubscription
    /// What it sent.
    public let value: CharacteristicValue
}

extension Session {
    /// The notifications or indications of a characteristic, over all links of the session.
    ///
    /// The subscription is made on each link before the session is ready, or at once where it is; it is taken back when
    /// the last iteration ends, unless the plan names it. Several iterations share it. While there is no link the stream
    /// waits; ``BLEStream/withGaps()`` shows for how long nothing could be received, and why.
    ///
    /// - Parameters:
    ///   - uuid: the characteristic; where the peripheral has several of it, the first one.
    ///   - service: the service that it is looked for in; `nil`: all.
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - buffer: what happens when values come faster than they are taken.
    /// - Returns: a stream that ends with the session.
    /// - Throws (in the loop): why the session failed; ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` or
    ///   ``BLEError/Code/attributeError`` where only this characteristic can't be had.
    public func notifications(
        of uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        notifications(SessionSubscription(uuid, in: service, indications: indications), buffer: buffer)
    }

    /// The notifications of a characteristic whose value has a type. See ``notifications(of:in:indications:buffer:)``.
    ///
    /// - Throws (in the loop): as there, and ``BLEError/Code/malformedValue``.
    public func notifications<Value>(
        of characteristic: TypedCharacteristic<Value>,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<Value> {
        notifications(of: characteristic.uuid, in: characteristic.service, indications: indications, buffer: buffer)
            .map { try characteristic.value(of: $0, operation: "notifications") }
    }

    /// The values of all subscriptions of the plan, as they come; each with the characteristic that sent it.
    ///
    /// End and errors are those of ``notifications(of:in:indications:buffer:)``. A plan without subscriptions has none:
    /// the stream ends at once.
    public var values: BLEStream<SessionValue> {
        plan.subscriptions.map { subscription in
            notifications(subscription).map { value in
                SessionValue(subscription: subscription, value: value)
            }
        }
        .merged()
    }

    /// The values of a subscription, planned or not. See ``notifications(of:in:indications:buffer:)``.
    public func notifications(
        _ subscription: SessionSubscription,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        let (channels, session) = (channels, SessionReference(self))
        let subject = StreamSubject(
            operation: "notifications",
            object: "of \(subscription) of \(self)"
        )
        return BLEStream(subject, timeline: core.timeline, buffer: buffer) { mailbox in
            if let session = session.session, !channels.isOn(subscription), session.queueCore.isInside {
                mailbox.finish(throwing: session.waitsForItself("notifications"))
                return {}
            }
            return channels.add(subscription, SessionConsumer(mailbox))
        }
    }
}
