public import BLEProtocol
import BLERadio

extension FlowChannel {
    /// Writes the last word of a flow, one that has the device stop what it does for it, and waits for the answer that the
    /// same characteristic indicates.
    ///
    /// For clean-up: it is not disturbed by cancellation, and works also when another flow has taken this one's place. It
    /// returns when the answer has come, the device has refused the value, the link has ended or the limit has passed.
    ///
    /// ```swift
    /// struct Listen: Flow {
    ///     let controlPoint = BluetoothUUID(0x2A52)
    ///
    ///     func run(on channel: FlowChannel) async throws {
    ///         do {
    ///             while true { print(try await channel.value().value) }
    ///         } catch {
    ///             await channel.conclude([0x03, 0x00], on: controlPoint) { $0.starts(with: [0x06, 0x00, 0x03]) }
    ///             throw error
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - value: 0 to 512 octets; with response.
    ///   - uuid: the characteristic, which can be written and indicates or notifies.
    ///   - limit: how long all of it may take; whoever was cancelled wants to leave.
    ///   - isAnswer: whether a value of the characteristic is the answer.
    public func conclude(
        _ value: some Collection<UInt8>,
        on uuid: BluetoothUUID,
        limit: Duration = .seconds(5),
        where isAnswer: @escaping @Sendable (CharacteristicValue) -> Bool
    ) async {
        guard let link = try? context.link else { return }
        let value = Array(value)
        let selector = CharacteristicSelector.uuid(uuid, service: nil)
        let object = OperationObject(.to, selector, peripheral.address)
        let isOver = Ending<Void>()
        await undisturbedReply(on: timeline, limit: (limit, ())) { finish in
            let consumer = ValueConsumer(
                object: "\(object)",
                deliver: { if $0.contains(where: isAnswer) { finish(()) } },
                finish: { _ in finish(()) }
            )
            // What is subscribed to already is so at once.
            let unsubscribe = link.bearer.subscribe(selector, indications: true, pass: link.pass, consumer)
            let cancel = link.start(
                .characteristic(selector, anyOf: .write) { WriteValue(handle: $0.valueHandle, value: value) },
                operation: "conclude",
                object: object
            ) { (outcome: Result<Void, BLEError>) in
                if case .failure = outcome { finish(()) }
            }
            isOver.undo(cancel)
            isOver.undo(unsubscribe)
            return {}
        }
        isOver.end()
    }

    /// Writes a value, not disturbed by cancellation, and bounded by the 30 s of a transaction; whether it was taken.
    package func restore(_ value: [UInt8], of uuid: BluetoothUUID) async -> Bool {
        guard let link = try? context.link else { return false }
        return await undisturbedReply(on: link.timeline) { finish in
            _ = link.start(
                .characteristic(.uuid(uuid, service: nil), anyOf: .write) {
                    WriteValue(handle: $0.valueHandle, value: value)
                },
                operation: "roll back",
                object: OperationObject(nil, .uuid(uuid, service: nil), link.peripheral.address),
                finish: { (outcome: Result<Void, BLEError>) in
                    if case .success = outcome { finish(true) } else { finish(false) }
                }
            )
            return {}
        }
    }
}
