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
public struct PairingFlow: Flow {
    public var name: String { PairingStage.operation }

    private let characteristic: BluetoothUUID
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
        reading characteristic: BluetoothUUID,
        limit: Duration = .seconds(60),
        pair: @escaping @Sendable (Link) async throws -> Void = { try await $0.pair() },
        remember: @escaping @Sendable (Peripheral, PairingFlow.Outcome) async throws -> Void = { _, _ in }
    ) {
        self.characteristic = characteristic
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
        reading characteristic: BluetoothUUID,
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

    public func run(on channel: FlowChannel) async throws -> PairingFlow.Outcome {
        let stage = PairingStage("with \(channel.peripheral)")
        return try await stage.limited(to: limit, on: channel.timeline) {
            if !channel.context.isConnected {
                stage.begin("find", on: channel)
                try await find(channel.peripheral)
            }
            return try await run(on: channel, stage)
        }
    }

    /// Does what is to be done with a device that was found; the limit is the caller's.
    func run(on channel: FlowChannel, _ stage: PairingStage) async throws -> PairingFlow.Outcome {
        stage.begin("connect", on: channel)
        try await channel.reconnect()
        stage.begin("provoke", on: channel)
        let (value, wasPaired) = try await protectedValue(channel, stage)
        let link = try channel.context.link
        let outcome = PairingFlow.Outcome(
            peripheral: link.peripheral,
            security: link.security,
            value: value,
            wasPaired: wasPaired
        )
        stage.begin("remember", on: channel)
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
        _ channel: FlowChannel,
        _ stage: PairingStage
    ) async throws -> (CharacteristicValue, wasPaired: Bool) {
        do {
            return (try await channel.read(characteristic), false)
        } catch let error as BLEError where error.attError.map(Self.asksForProtection) == true {
            stage.begin("pair", on: channel)
            try await pair(try channel.context.link)
            stage.begin("verify", on: channel)
            return (try await channel.read(characteristic), true)
        }
    }

    private static func asksForProtection(_ error: ATTError) -> Bool {
        [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort].contains(error)
    }
}
