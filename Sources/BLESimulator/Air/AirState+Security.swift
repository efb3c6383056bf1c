internal import BLEProtocol
internal import BLERadio

/// Pairing and encryption as a program sees them: which device has whose key, and when a link is encrypted. Nothing is
/// actually encrypted.
extension AirState {
    /// How many connection events the start of encryption takes.
    private static let encryptionEvents = 3

    typealias Encrypted = @Sendable (Result<Void, BLEError>) -> Void

    // MARK: - Bonds

    mutating func restore(_ bonds: [Bond], on adapter: AdapterID) {
        let own = bonds.filter { $0.adapter == adapters[adapter].address }
        for bond in own {
            adapters[adapter].keys[bond.peer] = bond.encryptionKeys.first.map { SimulatedKey($0) }
            adapters[adapter].identityKeys[bond.peer] = bond.identityKey
        }
    }

    /// Removes a key and drops the link. Returns whether there was a key; as on Linux, none is removed from an adapter
    /// that is not on.
    mutating func unpair(_ peer: BluetoothAddress, on adapter: AdapterID) -> Result<Bool, BLEError> {
        if let error = unavailable(adapter, for: "unpair", to: peer) { return .failure(error) }
        guard adapters[adapter].keys.removeValue(forKey: peer) != nil else { return .success(false) }
        adapters[adapter].identityKeys[peer] = nil
        if let end = link(of: adapter, with: peer) { disconnect(end) }
        return .success(true)
    }

    // MARK: - Encryption

    mutating func encrypt(_ id: LinkEndID, with peer: BluetoothAddress, _ result: @escaping Encrypted) {
        guard let link = links[id.link], !link[id.role].isOver else {
            return outbox.append(.encrypted(.failure(.notConnected("encrypt link", peer)), result))
        }
        guard !security(of: id).isEncrypted else { return outbox.append(.encrypted(.success(()), result)) }
        if id.role == .peripheral, !haveKey(link.central.adapter, link.peripheral.adapter) {
            // A Security Request, which the central answers by pairing, without asking its program.
            let peer = link.central.peer
            link.central.encryptionFailures.append(.wishRefused(of: peer))
            queueDelivery(to: .central, of: link)
            let central = link.peripheral.peer
            return outbox.append(.encrypted(.failure(.notEncrypted(central)), result))
        }
        link.encryptions.append(result)
        if link.encryptions.count == 1 { scheduleEncryption(of: link) }
    }

    /// Begins the encryption that is waited for, if any; again when the link is no longer silent.
    mutating func scheduleEncryption(of link: LinkRecord) {
        guard !link.encryptions.isEmpty else { return }
        let end = LinkEndID(link: link.id, role: .central)
        schedule(.encryption(end), at: now + link.timing.connectionInterval * Self.encryptionEvents)
    }

    mutating func runEncryption(_ id: LinkEndID) {
        guard let link = links[id.link], !link.encryptions.isEmpty, link.carries else { return }
        guard haveKey(link.central.adapter, link.peripheral.adapter) else {
            // As on Linux: a link that can't be encrypted with the bond's key is dropped, and the reason is reported.
            let isMissing = adapters[link.peripheral.adapter].keys[adapters[link.central.adapter].address] == nil
            let reason =
                isMissing
                ? DisconnectReason(.keyMissing, hciStatus: 0x06)
                : DisconnectReason(.authenticationFailed, hciStatus: 0x3D)
            let results = link.encryptions
            link.encryptions = []
            let error = BLEError.keysDoNotFit(link.central.peer, reason)
            for result in results { outbox.append(.encrypted(.failure(error), result)) }
            end(link, .central, reason)
            // It hears with what status its central gives the link up, not why.
            return end(link, .peripheral, isMissing ? DisconnectReason(onAir: .authenticationFailed) : reason)
        }
        let key = adapters[link.central.adapter].keys[adapters[link.peripheral.adapter].address]
        set(key?.isAuthenticated == true ? .authenticated : .justWorks, of: link)
        for result in link.encryptions { outbox.append(.encrypted(.success(()), result)) }
        link.encryptions = []
    }

    /// Sets the protection of a link, and tells its observers.
    mutating func set(_ security: LinkSecurity, of link: LinkRecord) {
        guard link.security != security else { return }
        link.security = security
        tellSecurity(of: link)
    }

    /// Gives the links between two adapters a protection, and tells the observers of those that there are.
    mutating func setSecurity(_ security: LinkSecurity, between pair: AdapterPair) {
        guard securities[pair] != security else { return }
        securities[pair] = security
        for link in links.all where AdapterPair(link.central.adapter, link.peripheral.adapter) == pair {
            tellSecurity(of: link)
        }
    }

    private mutating func tellSecurity(of link: LinkRecord) {
        for observer in link.securityObservers.all { outbox.append(.done(observer)) }
    }

    /// Whether two adapters have the same key.
    private func haveKey(_ one: AdapterID, _ other: AdapterID) -> Bool {
        let key = adapters[one].keys[adapters[other].address]
        return key != nil && key == adapters[other].keys[adapters[one].address]
    }

    func hasKey(_ id: LinkEndID) -> Bool {
        guard let link = links[id.link] else { return false }
        let (near, far) = (adapters[link[id.role].adapter], adapters[link[id.role.opposite].adapter])
        return near.keys[far.address] != nil || security(of: id).isEncrypted
    }

    func security(of id: LinkEndID) -> LinkSecurity {
        guard let link = links[id.link] else { return lastSecurities[id] ?? LinkSecurity.none }
        let given = securities[AdapterPair(link.central.adapter, link.peripheral.adapter)]
        return given ?? link.security
    }
}

/// A key that two simulated adapters share. Printing, interpolating or dumping it shows nothing of the key.
struct SimulatedKey: Hashable, Sendable {
    /// The beginning of every simulated key: shows where one has been printed.
    static let mark: UInt64 = 0x5EC2_E74B_1E55_7A0D

    private let halves: [UInt64]
    /// Whether the pairing was protected against a man in the middle.
    let isAuthenticated: Bool

    /// Makes a key from random bits.
    init(_ random: UInt64, isAuthenticated: Bool) {
        halves = [Self.mark, random]
        self.isAuthenticated = isAuthenticated
    }

    init(_ key: Bond.EncryptionKey) {
        let octets = key.value.octets
        halves = [octets.prefix(8), octets.suffix(8)].map { half in half.reduce(0) { $0 << 8 | UInt64($1) } }
        isAuthenticated = key.isAuthenticated
    }

    /// The key as LE Secure Connections would make it.
    var encryptionKey: Bond.EncryptionKey {
        Bond.EncryptionKey(
            kind: isAuthenticated ? 3 : 2,
            initiator: 0,
            size: 16,
            diversifier: 0,
            random: 0,
            value: value
        )
    }

    private var value: SecretKey {
        let octets = halves.flatMap { half in (0..<8).reversed().map { UInt8(truncatingIfNeeded: half >> (8 * $0)) } }
        guard let value = SecretKey(octets: octets) else { preconditionFailure("two halves are sixteen octets") }
        return value
    }
}

extension SimulatedKey: CustomStringConvertible, CustomReflectable {
    /// Shows nothing of the key.
    var description: String { "<key>" }
    /// Shows nothing of the key.
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension LinkSecurity {
    static let justWorks = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
    static let authenticated = LinkSecurity(
        isEncrypted: true,
        isAuthenticated: true,
        isSecureConnections: true,
        keySize: 16
    )
}

extension BLEError {
    static func notConnected(_ operation: String, _ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .disconnected,
            operation: operation,
            object: "with \(peer)",
            cause: "there is no link to the peer",
            remedy: "Connect first."
        )
    }

    static func endedWhileEncrypting(_ peer: BluetoothAddress, _ reason: DisconnectReason) -> BLEError {
        var error = BLEError(
            .disconnected,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "the link ended while it was being encrypted: \(reason.kind.words)",
            remedy: "Connect again."
        )
        error.reason = reason
        return error
    }

    static func wishRefused(of peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "it requested encryption, but there is no bond with it",
            remedy: "Pair with it: Link.pair(answers:timeout:)."
        )
    }

    /// The error that a peripheral gets for a failed pairing that a central has begun.
    static func pairingFailed(as failure: PairingFailure, by central: BluetoothAddress) -> BLEError {
        var error = BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(central)",
            cause: "its pairing failed",
            remedy: "Pair again from the central."
        )
        if failure == .refusedByPeripheral {
            error.cause = "its pairing was refused by this adapter's settings"
            error.remedy = "Set acceptsPairing to true in the settings of this adapter."
        }
        error.pairingFailure = failure
        return error
    }

    /// The keys of the two devices don't match.
    fileprivate static func keysDoNotFit(_ peer: BluetoothAddress, _ reason: DisconnectReason) -> BLEError {
        var error = notEncrypted(peer)
        error.cause =
            reason.kind == .keyMissing
            ? "the peripheral no longer has the keys of the bond: it was reset, or its bond was removed there"
            : "the peripheral's keys differ from this adapter's: one of the two has paired again"
        error.remedy = "Remove the bond with Peripheral.unpair(), then pair again."
        error.reason = reason
        return error
    }

    static func notEncrypted(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "one of the two devices has no key for the other, or a different one",
            remedy: "Remove the bond with Peripheral.unpair(), then pair again."
        )
    }
}
