import BLEProtocol
import BLERadio

extension Link {
    /// The values that a characteristic sends. See ``CharacteristicAccess``.
    public func octets(
        of characteristic: CharacteristicReference,
        readingFirst readsFirst: Bool,
        indications: Bool,
        buffer: BufferPolicy
    ) -> BLEStream<CharacteristicValue> {
        let selector = characteristic.selector
        return readsFirst ? values(selector, indications, buffer) : notifications(selector, indications, buffer)
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
                mayLack: { mailbox.pass(.ofUnknownLoss) },
                withheld: { mailbox.pass(.ofWithheldValues(of: subject.object)) },
                finish: { mailbox.finish(throwing: $0) },
                moved: { mailbox.interrupted(by: BLEError.subscriptionMoved(subject.object), for: .zero) },
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
            let reading = ValueReading()
            let consumer = ValueConsumer(
                object: object,
                deliver: { values in if reading.isDone { mailbox.send(burst: values) } },
                lost: { count in if reading.isDone { mailbox.lost(count) } },
                mayLack: { if reading.isDone { mailbox.pass(.ofUnknownLoss) } },
                withheld: { if reading.isDone { mailbox.pass(.ofWithheldValues(of: object)) } },
                finish: { mailbox.finish(throwing: $0) },
                registered: { _ in
                    reading.begin {
                        self.startReading(selector, finish: $0)
                    } tell: { outcome in
                        switch outcome {
                        case .success(let octets):
                            mailbox.send(CharacteristicValue(bytes: octets[...], time: self.timeline.wallTime))
                        case .failure(let error): mailbox.finish(throwing: error)
                        }
                    }
                },
                moved: {
                    // No gap comes before the first value.
                    guard reading.isDone else { return }
                    mailbox.interrupted(by: BLEError.subscriptionMoved(object), for: .zero)
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

    private func startReading(
        _ selector: CharacteristicSelector,
        finish: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        start(
            .characteristic(selector, anyOf: []) { ReadValue(handle: $0.valueHandle) },
            operation: "read",
            object: OperationObject(.of, selector, peripheral.address),
            finish: finish
        )
    }
}
