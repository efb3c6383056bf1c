public import BLEProtocol
import BLERadio

extension PairingFlow {
    /// What ``PairingFlow`` has brought about.
    public struct Outcome: Hashable, Sendable {
        /// The device, by the address that it turned out to have: of a bare one only the likelier kind is known before.
        public var peripheral: Peripheral
        /// How the link is protected now.
        public var security: LinkSecurity
        /// What the protected characteristic says.
        public var value: CharacteristicValue
        /// Whether the device had to be paired with, or knew us already.
        public var wasPaired: Bool
    }
}

/// Pairs with a device: finds it, connects, reads a characteristic that asks for protection, pairs when it is refused,
/// reads it again, and lets the caller remember the device.
///
/// A queue runs it for a device whose address is known. One that is known by its name or by what it offers is found first:
/// ``Central/pair(with:by:onProgress:)``.
///
/// ```swift
/// let flow = PairingFlow(reading: BluetoothUUID(0x2A19), limit: .seconds(30))
/// let outcome = try await peripheral.withQueue { queue in try await queue.run(flow) }
/// ```
///
/// Phases of its progress: `find`, `connect`, `provoke`, `pair`, `verify`, `remember`.
///
/// - Throws (when run): ``BLEError/Code/timedOut`` with the phase, when the limit is over;
///   ``BLEError/Code/attributeError`` when the characteristic is refused after pairing too; what pairing and remembering
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
    ///   - pair: makes the keys; ``Link/pair(answers:timeout:)``, which asks nobody, unless said otherwise.
    ///   - remember: is told of the device once all is well.
    public init(
        reading characteristic: some CharacteristicKey,
        limit: Duration = .seconds(60),
        pair: @escaping @Sendable (Link) async throws -> Void = { try await $0.pair() },
        remember: @escaping @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void = { _, _ in }
    ) {
        self.characteristic = characteristic.reference
        self.limit = limit
        self.pair = pair
        self.remember = remember
    }

    /// Describes a pairing that asks a person, or has a passkey that is known.
    ///
    /// - Parameters:
    ///   - characteristic: one that asks for an encrypted link.
    ///   - limit: how long all of it may take, from finding to remembering, on the radio's clock.
    ///   - answers: who answers what the pairing asks.
    ///   - remember: is told of the device once all is well.
    public init(
        reading characteristic: some CharacteristicKey,
        limit: Duration = .seconds(60),
        answers: PairingAnswers,
        remember: @escaping @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void = { _, _ in }
    ) {
        self.init(
            reading: characteristic,
            limit: limit,
            pair: { try await $0.pair(answers: answers) },
            remember: remember
        )
    }

    public func run(in context: CommandContext) async throws -> PairingFlow.Outcome {
        let stage = PairingStage("with \(context.peripheral)")
        return try await stage.limited(to: limit, on: context.timeline) {
            if !context.isConnected {
                stage.begin("find", in: context)
                try await find(context.peripheral)
            }
            return try await run(in: context, stage)
        }
    }

    /// Does what is to be done with a device that was found; the limit is the caller's.
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

    /// The value of the characteristic, and whether the device had to be paired with for it.
    private func protectedValue(
        _ context: CommandContext,
        _ stage: PairingStage
    ) async throws -> (CharacteristicValue, wasPaired: Bool) {
        do {
            return (try await context.read(characteristic), false)
        } catch let error as BLEError where error.attError.map(Self.asksForProtection) == true {
            stage.begin("pair", in: context)
            try await pair(try context.link)
            stage.begin("verify", in: context)
            return (try await context.read(characteristic), true)
        }
    }

    private static func asksForProtection(_ error: ATTError) -> Bool {
        [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort].contains(error)
    }
}
