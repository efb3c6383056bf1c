public import BLEProtocol
public import BLERadio

/// What ``PairingFlow`` has brought about.
public struct PairingOutcome: Hashable, Sendable {
    /// The device, by the address that it turned out to have: of a bare one only the likelier kind is known before.
    public var peripheral: Peripheral
    /// How the link is protected now.
    public var security: LinkSecurity
    /// What the protected characteristic says.
    public var value: CharacteristicValue
    /// Whether the device had to be paired with, or knew us already.
    public var wasPaired: Bool
}

/// Pairs with a device: finds it, connects, reads a characteristic that asks for protection, pairs when it is refused,
/// reads it again, and lets the caller remember the device.
///
/// - Throws (when run): ``BLEError/Code/timedOut`` when the device isn't found; ``BLEError/Code/attributeError`` when the
///   characteristic is refused after pairing too; what pairing and remembering throw; `CancellationError`.
public struct PairingFlow: Flow {
    public var name: String { "pairing" }

    private let characteristic: BluetoothUUID
    private let patience: Duration
    private let pair: @Sendable (Link) async throws -> Void
    private let remember: @Sendable (Peripheral, PairingOutcome) async throws -> Void

    /// Describes a pairing.
    ///
    /// - Parameters:
    ///   - characteristic: one that asks for an encrypted link.
    ///   - patience: how long to look for the device.
    ///   - pair: makes the keys; ``Link/pair(timeout:)``, which asks nobody, unless said otherwise.
    ///   - remember: is told of the device once all is well.
    public init(
        reading characteristic: BluetoothUUID,
        patience: Duration = .seconds(30),
        pair: @escaping @Sendable (Link) async throws -> Void = { try await $0.pair() },
        remember: @escaping @Sendable (Peripheral, PairingOutcome) async throws -> Void = { _, _ in }
    ) {
        self.characteristic = characteristic
        self.patience = patience
        self.pair = pair
        self.remember = remember
    }

    public func run(on channel: FlowChannel) async throws -> PairingOutcome {
        if !channel.context.isConnected {
            channel.begin("find")
            try await find(channel.peripheral)
        }
        channel.begin("connect")
        try await channel.reconnect()
        channel.begin("provoke")
        var wasPaired = false
        var value = try await protectedValue(channel)
        if value == nil {
            channel.begin("pair")
            try await pair(try channel.context.link)
            wasPaired = true
            channel.begin("verify")
            value = try await channel.read(characteristic)
        }
        guard let value else { throw CancellationError() }
        let link = try channel.context.link
        let outcome = PairingOutcome(
            peripheral: link.peripheral,
            security: link.security,
            value: value,
            wasPaired: wasPaired
        )
        channel.begin("remember")
        try await remember(outcome.peripheral, outcome)
        return outcome
    }

    /// Waits until the device advertises.
    private func find(_ peripheral: Peripheral) async throws {
        let addresses = [peripheral.address] + peripheral.alternatives
        _ = try await Central(core: peripheral.core).scan(for: addresses.map { .address($0) })
            .timeout(patience, for: .wholeStream).first()
    }

    /// The value of the characteristic; `nil` where the device asks for protection first.
    private func protectedValue(_ channel: FlowChannel) async throws -> CharacteristicValue? {
        do {
            return try await channel.read(characteristic)
        } catch let error as BLEError where error.attError.map(Self.asksForProtection) == true {
            return nil
        }
    }

    private static func asksForProtection(_ error: ATTError) -> Bool {
        [.insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort].contains(error)
    }
}
