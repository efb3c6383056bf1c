internal import BLEProtocol
internal import BLERadio

/// Pairing and encryption, as far as a program sees them: who has a key of whom, and when a link is encrypted. Nothing
/// is enciphered.
extension AirState {
    /// How many connection events the messages of a pairing take, and those that start the encryption.
    private static let pairingEvents = 8
    private static let encryptionEvents = 3

    typealias Encrypted = @Sendable (Result<Void, BLEError>) -> Void

    // MARK: - Pairing

    mutating func startPairing(
        with peer: BluetoothAddress,
        on adapter: AdapterID,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> ActivityID {
        let id = add(.pair(peer, result), on: adapter)
        if let error = unavailable(adapter, for: "pair", to: peer) {
            fail(id, error)
        } else if let end = adapters[adapter].links[peer], let link = links[end.link] {
            adapters[adapter].pairings.append(id)
            schedule(.pairing(id, end), at: now + link.timing.connectionInterval * Self.pairingEvents)
        } else {
            fail(id, .notConnected("pair", peer))
        }
        return id
    }

    mutating func runPairing(_ id: ActivityID, _ end: LinkEndID) {
        guard let activity = stop(id), case .pair(let peer, _) = activity.kind else { return }
        activities[id]?.isEnding = true
        guard let link = links[end.link], !link.isSilent, !link[end.role].isOver, let other = addresses[peer] else {
            return outbox.append(.paired(id, .failure(.notConnected("pair", peer))))
        }
        let adapter = activity.adapter
        guard adapters[adapter].keys[peer] == nil else {
            // As on Linux: the key that is there is not looked at.
            return outbox.append(.paired(id, .success(nil)))
        }
        guard adapters[other].settings.acceptsPairing else {
            link[end.role.opposite].encryptionFailures.append(.pairingFailed(with: adapters[adapter].address))
            queueDelivery(to: end.role.opposite, of: link)
            return outbox.append(.paired(id, .failure(.pairingRefused(by: peer))))
        }
        let key = SimulatedKey(timeline.randomBits(), timeline.randomBits())
        adapters[adapter].keys[peer] = key
        adapters[other].keys[adapters[adapter].address] = key
        link.security = .justWorks
        let bond = Bond(peer: peer, adapter: adapters[adapter].address, encryptionKeys: [key.encryptionKey])
        outbox.append(.paired(id, .success(bond)))
    }

    // MARK: - Bonds

    mutating func restore(_ bonds: [Bond], on adapter: AdapterID) {
        let own = bonds.filter { $0.adapter == adapters[adapter].address }
        for bond in own { adapters[adapter].keys[bond.peer] = bond.encryptionKeys.first.map { SimulatedKey($0) } }
    }

    /// Forgets a key and drops the link; whether there was one.
    mutating func unpair(_ peer: BluetoothAddress, on adapter: AdapterID) -> Bool {
        guard adapters[adapter].keys.removeValue(forKey: peer) != nil else { return false }
        if let end = adapters[adapter].links[peer] { disconnect(end) }
        return true
    }

    // MARK: - Encryption

    mutating func encrypt(_ id: LinkEndID, _ result: @escaping Encrypted) {
        guard let link = links[id.link], !link[id.role].isOver else {
            return outbox.append(.encrypted(.failure(.notEncrypted(nil)), result))
        }
        guard !security(of: id).isEncrypted else { return outbox.append(.encrypted(.success(()), result)) }
        if id.role == .peripheral, !haveKey(link.central.adapter, link.peripheral.adapter) {
            // A Security Request, which the central answers by pairing; nobody has asked its program for that.
            let peer = adapters[link.peripheral.adapter].address
            link.central.encryptionFailures.append(.wishRefused(of: peer))
            queueDelivery(to: .central, of: link)
            let central = adapters[link.central.adapter].address
            return outbox.append(.encrypted(.failure(.notEncrypted(central)), result))
        }
        link.encryptions.append(result)
        guard link.encryptions.count == 1 else { return }
        schedule(.encryption(id), at: now + link.timing.connectionInterval * Self.encryptionEvents)
    }

    mutating func runEncryption(_ id: LinkEndID) {
        guard let link = links[id.link], !link.encryptions.isEmpty, !link.isSilent else { return }
        guard haveKey(link.central.adapter, link.peripheral.adapter) else {
            // As on Linux: a link that can't be encrypted with the bond's key is dropped.
            return cut(link, DisconnectReason(.authenticationFailed, hciStatus: 0x05))
        }
        link.security = .justWorks
        for result in link.encryptions { outbox.append(.encrypted(.success(()), result)) }
        link.encryptions = []
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
        guard let link = links[id.link] else { return .none }
        let given = securities[AdapterPair(link.central.adapter, link.peripheral.adapter)]
        return given ?? link.security
    }
}

/// A key that two simulated adapters share.
struct SimulatedKey: Hashable, Sendable {
    private let halves: [UInt64]

    init(_ first: UInt64, _ last: UInt64) { halves = [first, last] }

    init(_ key: Bond.EncryptionKey) {
        let octets = key.value.octets
        halves = [octets.prefix(8), octets.suffix(8)].map { half in half.reduce(0) { $0 << 8 | UInt64($1) } }
    }

    /// Of the kind that Just Works makes with LE Secure Connections.
    var encryptionKey: Bond.EncryptionKey {
        Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
    }

    private var value: SecretKey {
        let octets = halves.flatMap { half in (0..<8).reversed().map { UInt8(truncatingIfNeeded: half >> (8 * $0)) } }
        guard let value = SecretKey(octets: octets) else { preconditionFailure("two halves are sixteen octets") }
        return value
    }
}

extension LinkSecurity {
    static let justWorks = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
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

    static func pairingRefused(by peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "pair",
            object: "with \(peer)",
            cause: "the peripheral refused",
            remedy: "Set acceptsPairing in the settings of its adapter."
        )
    }

    static func wishRefused(of peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "it asked for encryption, and there is no bond with it",
            remedy: "Pair with it: Link.pair(timeout:)."
        )
    }

    static func pairingFailed(with peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "it wanted to pair, and this adapter's settings refuse that",
            remedy: "Set acceptsPairing in the settings of this adapter."
        )
    }

    static func notEncrypted(_ peer: BluetoothAddress?) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: peer.map { "with \($0)" } ?? "",
            cause: "one of the two devices has no key of the other, or another one",
            remedy: "Unpair, then pair again."
        )
    }
}
