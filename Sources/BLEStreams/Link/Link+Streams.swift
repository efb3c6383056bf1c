public import BLEProtocol
import BLERadio
import Synchronization

extension Link {
    /// The notifications or indications of a characteristic, for as long as the stream is iterated.
    ///
    /// The first iteration switches them on, the end of the last one switches them off; several iterations at once
    /// share one subscription. The consumer is in place before the peer is asked to send, so nothing that comes early
    /// is lost. Services are discovered first where they aren't known yet.
    ///
    /// - Parameters:
    ///   - uuid: the characteristic's type; where the peripheral has several of it, the first one.
    ///   - service: the service that it is looked for in; `nil`: all.
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - buffer: what happens when values come faster than they are taken.
    /// - Returns: a stream that ends when this side closes the link meanwhile.
    /// - Throws (in the loop): ``BLEError/Code/disconnected`` with the reason when the link is lost, after everything
    ///   that was received, and where the link is over already; ``BLEError/Code/notFound``; ``BLEError/Code/notSupported``;
    ///   ``BLEError/Code/attributeError`` when the peer refuses.
    public func notifications(
        of uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        notifications(.uuid(uuid, service: service), indications, buffer)
    }

    /// The notifications of a characteristic that was discovered. See ``notifications(of:in:indications:buffer:)``.
    public func notifications(
        of characteristic: Characteristic,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        notifications(.exactly(characteristic), indications, buffer)
    }

    /// The notifications of the characteristic whose value has this handle. See
    /// ``notifications(of:in:indications:buffer:)``.
    public func notifications(
        ofHandle handle: UInt16,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        notifications(.handle(handle), indications, buffer)
    }

    /// The notifications of a characteristic whose value has a type. See ``notifications(of:in:indications:buffer:)``.
    ///
    /// - Throws (in the loop): as there, and ``BLEError/Code/malformedValue``.
    public func notifications<Value>(
        of characteristic: TypedCharacteristic<Value>,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<Value> {
        notifications(.uuid(characteristic.uuid, service: characteristic.service), indications, buffer)
            .map { try characteristic.value(of: $0, operation: "notifications") }
    }

    /// The value of a characteristic: as it is read now, then each change that the peer notifies.
    ///
    /// Notifications are switched on before the value is read, so no change falls between the two; what is notified
    /// before the value has been read is contained in it, and not handed out.
    /// Parameters, end and errors are those of ``notifications(of:in:indications:buffer:)``.
    public func values(
        of uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        values(.uuid(uuid, service: service), indications, buffer)
    }

    /// The value of a characteristic that was discovered, and its changes. See ``values(of:in:indications:buffer:)``.
    public func values(
        of characteristic: Characteristic,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<CharacteristicValue> {
        values(.exactly(characteristic), indications, buffer)
    }

    /// The value of a characteristic that has a type, and its changes. See ``values(of:in:indications:buffer:)``.
    public func values<Value>(
        of characteristic: TypedCharacteristic<Value>,
        indications: Bool = false,
        buffer: BufferPolicy = .standard
    ) -> BLEStream<Value> {
        values(.uuid(characteristic.uuid, service: characteristic.service), indications, buffer)
            .map { try characteristic.value(of: $0, operation: "values") }
    }

    private func notifications(
        _ selector: CharacteristicSelector,
        _ indications: Bool,
        _ buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue> {
        let (bearer, pass, whoAnswers) = (bearer, pass, whoAnswers)
        let subject = StreamSubject(operation: "notifications", object: "of \(selector) of \(peripheral)")
        return BLEStream(subject, timeline: timeline, buffer: buffer) { mailbox in
            let consumer = ValueConsumer(
                object: subject.object,
                deliver: { mailbox.send(burst: $0) },
                lost: { mailbox.lost($0) },
                finish: { mailbox.finish(throwing: $0) },
                answers: whoAnswers
            )
            return bearer.subscribe(selector, indications: indications, pass: pass, consumer)
        }
    }

    private func values(
        _ selector: CharacteristicSelector,
        _ indications: Bool,
        _ buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue> {
        let object = "of \(selector) of \(peripheral)"
        let subject = StreamSubject(operation: "values", object: object)
        return BLEStream(subject, timeline: timeline, buffer: buffer) { mailbox in
            let hasRead = Mutex(false)
            let reading = Ending<Void>()
            let isReading = Mutex(false)
            let consumer = ValueConsumer(
                object: object,
                deliver: { values in if hasRead.withLock({ $0 }) { mailbox.send(burst: values) } },
                lost: { count in if hasRead.withLock({ $0 }) { mailbox.lost(count) } },
                finish: { mailbox.finish(throwing: $0) },
                registered: { _ in
                    // One that is under way finds the new handle by itself when the services change.
                    let isSecond = isReading.withLock { isReading in
                        defer { isReading = true }
                        return isReading
                    }
                    guard !isSecond else { return }
                    let cancel = self.start(
                        .characteristic(selector, anyOf: []) { ReadValue(handle: $0.valueHandle) },
                        operation: "read",
                        object: OperationObject(.of, selector, self.peripheral.address),
                        finish: { (outcome: Result<[UInt8], BLEError>) in
                            isReading.withLock { $0 = false }
                            switch outcome {
                            case .success(let octets):
                                mailbox.send(CharacteristicValue(bytes: octets[...], time: self.timeline.wallTime))
                                hasRead.withLock { $0 = true }
                            case .failure(let error): mailbox.finish(throwing: error)
                            }
                        }
                    )
                    reading.undoInstead(cancel)
                },
                answers: self.whoAnswers
            )
            let unsubscribe = self.bearer.subscribe(selector, indications: indications, pass: self.pass, consumer)
            return {
                unsubscribe()
                reading.end()
            }
        }
    }
}
