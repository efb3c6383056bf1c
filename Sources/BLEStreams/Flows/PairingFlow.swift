public import BLEProtocol
import BLERadio

extension PairingFlow {
    /// The result of a ``PairingFlow``.
    public struct Outcome: Hashable, Sendable {
        /// The device, with the address that proved correct if its kind was unknown before.
        public var peripheral: Peripheral
        /// The security of the link now.
        public var security: LinkSecurity
        /// The value of the protected characteristic.
        public var value: CharacteristicValue
        /// Whether pairing was necessary; `false` if the device knew us already.
        public var wasPaired: Bool
    }
}

/// Pairs with a device: finds it unless it is connected, connects, reads a protected characteristic, pairs if the read
/// is refused, reads it again, and lets the caller remember the device.
///
/// It alone pairs: its read doesn't use the answers that ``Peripheral/allowPairing(_:)`` has set.
///
/// A queue runs it for a device whose address is known. To find a device by its name or its services first, use
/// ``Central/pair(with:by:onProgress:)``.
///
/// ```swift
/// let flow = PairingFlow(reading: BluetoothUUID(0x2A19), limit: .seconds(30))
/// let outcome = try await peripheral.withQueue { queue in try await queue.run(flow) }
/// ```
///
/// A queue that connects (``CommandQueue/connecting(timeout:then:)``) does so before the flow begins: the flow's limit
/// doesn't cover that.
///
/// Its progress has the phases `find`, `connect`, `provoke`, `pair`, `verify`, `remember`.
///
/// - Throws (when run): ``BLEError/Code/timedOut`` with the phase, when the limit is over;
///   ``BLEError/Code/attributeError`` if the characteristic is refused even after pairing; what pairing and remembering
///   throw; `CancellationError`.
public struct PairingFlow: Command {
    public var name: String { PairingStage.operation }

    private let characteristic: CharacteristicReference
    let limit: Duration
    private let pair: @Sendable (Link) async throws -> Void
    private let remember: @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void

    /// Describes a pairing.
    ///
    /// - Parameters:
    ///   - characteristic: one that asks for an encrypted link.
    ///   - limit: how long all of it may take, from finding to remembering, on the radio's clock.
    ///   - pair: makes the keys; `nil`: ``Link/pair(answers:timeout:)`` with the answers set for the peripheral or the
    ///     central, if any, or ``Link/secure(to:answers:timeout:)`` if the keys that there are don't suffice.
    ///   - remember: called with the device once the pairing has succeeded.
    public init(
        reading characteristic: some CharacteristicKey,
        limit: Duration = .seconds(60),
        pair: (@Sendable (Link) async throws -> Void)? = nil,
        remember: @escaping @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void = { _, _ in }
    ) {
        self.characteristic = characteristic.reference
        self.limit = limit
        self.pair = pair ?? { try await $0.pair(afterRefusal: $0.answers ?? PairingAnswers()) }
        self.remember = remember
    }

    /// Describes a pairing that asks a person, or uses a known passkey.
    ///
    /// - Parameters:
    ///   - characteristic: one that asks for an encrypted link.
    ///   - limit: how long all of it may take, from finding to remembering, on the radio's clock.
    ///   - answers: the answers to what the pairing asks.
    ///   - remember: called with the device once the pairing has succeeded.
    public init(
        reading characteristic: some CharacteristicKey,
        limit: Duration = .seconds(60),
        answers: PairingAnswers,
        remember: @escaping @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void = { _, _ in }
    ) {
        self.init(
            reading: characteristic,
            limit: limit,
            pair: { try await $0.pair(afterRefusal: answers) },
            remember: remember
        )
    }

    public func run(in context: CommandContext) async throws -> PairingFlow.Outcome {
        let stage = PairingStage("with \(context.peripheral)")
        return try await stage.limited(to: limit, on: context.timeline) {
            // A device with a link, of this program or another one, may not advertise.
            if !context.isConnected, !context.peripheral.hasLink {
                stage.begin("find", in: context)
                try await find(context.peripheral)
            }
            return try await run(in: context, stage)
        }
    }

    /// Pairs with a device that is already found; the caller limits the time.
    func run(in context: CommandContext, _ stage: PairingStage) async throws -> PairingFlow.Outcome {
        stage.begin("connect", in: context)
        try await context.reconnect()
        stage.begin("provoke", in: context)
        let (value, wasPaired) = try await protectedValue(context, stage)
        let link = try context.link
        let outcome = PairingFlow.Outcome(
            peripheral: link.peripheral,
            security: link.security,
            value: value,
            wasPaired: wasPaired
        )
        stage.begin("remember", in: context)
        try await remember(outcome.peripheral, outcome)
        return outcome
    }

    /// Waits until the device advertises.
    private func find(_ peripheral: Peripheral) async throws {
        let addresses = [peripheral.address] + peripheral.alternatives
        _ = try await Central(core: peripheral.core).scan(for: addresses.map { .address($0) }).first()
    }

    /// The value of the characteristic, and whether pairing was necessary to read it.
    private func protectedValue(
        _ context: CommandContext,
        _ stage: PairingStage
    ) async throws -> (CharacteristicValue, wasPaired: Bool) {
        let link = try context.link
        let hadKey = link.bearer.security.hasKey
        do {
            let value = try await link.withoutRaising().read(characteristic)
            // The program may demand more of the link than the device does.
            return (value, wasPaired: !hadKey && link.security.isEncrypted)
        } catch let error as BLEError where error.attError.map(Self.asksForProtection) == true {
            stage.begin("pair", in: context)
            try await pair(try context.link)
            stage.begin("verify", in: context)
            return (try await context.link.withoutRaising().read(characteristic), true)
        }
    }

    private static func asksForProtection(_ error: ATTError) -> Bool {
        [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort].contains(error)
    }
}

extension Link {
    /// Pairs, since the device has refused a read. If the link is encrypted, its keys don't suffice, and the answers
    /// may make better ones; without a capability they can't.
    fileprivate func pair(afterRefusal answers: PairingAnswers) async throws {
        if security.level == .encrypted, answers.capability != .noInputNoOutput {
            try await secure(to: .authenticated, answers: answers)
        }
        try await pair(answers: answers)
    }
}
