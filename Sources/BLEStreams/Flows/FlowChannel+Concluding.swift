import BLEProtocol
import BLERadio

extension FlowChannel {
    /// Writes the last word of a flow, and waits for the answer that the same characteristic indicates: not disturbed by
    /// cancellation nor by a flow that takes this one's place.
    ///
    /// Returns when the answer has come, the device has refused the value, the link has ended or the limit has passed.
    func conclude(
        _ value: [UInt8],
        on uuid: BluetoothUUID,
        limit: Duration,
        where isAnswer: @escaping @Sendable (CharacteristicValue) -> Bool
    ) async {
        guard let link = try? context.link else { return }
        let selector = CharacteristicSelector.uuid(uuid, service: nil)
        let object = OperationObject(.to, selector, peripheral.address)
        var undo: [@Sendable () -> Void] = []
        await withCheckedContinuation { continuation in
            let done = OnceOnly { continuation.resume() }
            let timer = timeline.schedule(after: limit) { done.run() }
            let subscriber = LinkAttributes.Subscriber(
                object: "\(object)",
                deliver: { if $0.contains(where: isAnswer) { done.run() } },
                lost: { _ in },
                finish: { _ in done.run() }
            )
            // What is subscribed to already is so at once.
            let unsubscribe = link.attributes.subscribe(selector, indications: true, pass: link.pass, subscriber)
            let cancel = AttributeOperation.start(
                on: link,
                .characteristic(selector, anyOf: .write) { WriteValue(handle: $0.valueHandle, value: value) },
                operation: "conclude",
                object: object
            ) { outcome in
                if case .failure = outcome { done.run() }
            }
            undo = [timer.cancel, cancel, unsubscribe]
        }
        for action in undo { action() }
    }
}
