import BLEProtocol
import BLERadio

extension CommandContext {
    /// Writes a command's last value, which tells the device to stop its work, and waits for the answer that the same
    /// characteristic sends.
    ///
    /// Use it for clean-up: it works even if the task is cancelled, or another command has replaced this one. It
    /// returns when the answer has come, the device has refused the value, the link has ended or the limit has passed.
    ///
    /// ```swift
    /// struct Listen: Command {
    ///     let controlPoint = BluetoothUUID(0x2A52)
    ///
    ///     func run(in context: CommandContext) async throws {
    ///         do {
    ///             while true { print(try await context.value().value) }
    ///         } catch {
    ///             await context.conclude([0x03, 0x00], on: controlPoint) { $0.starts(with: [0x06, 0x00, 0x03]) }
    ///             throw error
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - octets: 0 to 512 octets, written with response.
    ///   - key: the characteristic, which can be written and indicates or notifies.
    ///   - limit: how long all of it may take; short, since a cancelled caller waits for it.
    ///   - isAnswer: whether a value of the characteristic is the answer; a value that the key can't decode is not.
    public func conclude<Key: CharacteristicKey>(
        _ octets: some Collection<UInt8>,
        on key: Key,
        limit: Duration = .seconds(5),
        where isAnswer: @escaping @Sendable (Key.Value) -> Bool
    ) async {
        guard let link = work.handle else { return }
        let (octets, selector) = (Array(octets), key.reference.selector)
        let object = OperationObject(.to, selector, peripheral.address)
        let isOver = Ending<Void>()
        await undisturbedReply(on: timeline, limit: (limit, ())) { finish in
            let consumer = ValueConsumer(
                object: "\(object)",
                deliver: { values in
                    let isOver = values.contains { value in (try? key.value(of: value)).map(isAnswer) ?? false }
                    if isOver { finish(()) }
                },
                finish: { _ in finish(()) }
            )
            // If the characteristic is already subscribed to, this takes effect at once.
            let unsubscribe = link.bearer.subscribe(selector, indications: true, pass: link.pass, consumer)
            let cancel = link.start(
                .characteristic(selector, anyOf: .write) { WriteValue(handle: $0.valueHandle, value: octets) },
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

    /// Writes a value even if the task is cancelled, within the 30 s of a transaction; returns whether the device
    /// accepted it.
    package func restore(_ value: [UInt8], of key: some CharacteristicKey) async -> Bool {
        guard let link = work.handle else { return false }
        let selector = key.reference.selector
        return await undisturbedReply(on: link.timeline) { finish in
            _ = link.start(
                .characteristic(selector, anyOf: .write) { WriteValue(handle: $0.valueHandle, value: value) },
                operation: "roll back",
                object: OperationObject(nil, selector, link.peripheral.address),
                finish: { (outcome: Result<Void, BLEError>) in
                    if case .success = outcome { finish(true) } else { finish(false) }
                }
            )
            return {}
        }
    }
}
