internal import BLEProtocol

/// The keys that one pairing makes, as the kernel reports them one by one: the peer's identity, then one key of LE
/// Secure Connections, or one for each role of a legacy pairing.
struct GatheredKeys: Hashable, Sendable {
    /// The peer that they belong to: the address of its link.
    let peer: BluetoothAddress
    /// The peer as the keys name it: its identity, if it sent one.
    private(set) var identity: BluetoothAddress
    private var encryptionKeys: [Bond.EncryptionKey] = []
    private var identityKey: SecretKey?

    init(of peer: BluetoothAddress) {
        self.peer = peer
        identity = peer
    }

    /// Whether there is no key to keep.
    var isEmpty: Bool { encryptionKeys.isEmpty }

    /// Whether no further key can follow.
    var isWhole: Bool { encryptionKeys.contains { $0.kind >= 2 } || encryptionKeys.count > 1 }

    /// Whether no key can have come before these: of the two of a legacy pairing, that of the initiator comes first.
    /// Source: kernel, `smp_notify_keys`.
    var hasFirst: Bool { encryptionKeys.first?.initiator == 1 }

    /// Whether an address that the kernel uses is the peer's.
    func isOwn(_ address: BluetoothAddress) -> Bool { address == peer || address == identity }

    /// Takes an event. Returns whether it brought one of the peer's encryption keys, even one for this link only.
    mutating func take(_ event: ManagementEvent) -> Bool {
        switch event {
        case .newIdentityResolvingKey(let new):
            guard let identity = new.key.address.lowEnergy, new.privateAddress == peer || identity == peer else {
                return false
            }
            self.identity = identity
            identityKey = new.storeHint ? new.key.value : nil
            return false
        case .newLongTermKey(let new):
            guard let address = new.key.address.lowEnergy, isOwn(address) else { return false }
            if new.storeHint { encryptionKeys.append(Bond.EncryptionKey(new.key)) }
            return true
        default: return false
        }
    }

    /// The bond of an adapter with the peer; `nil` if there is no key to keep.
    func bond(of adapter: BluetoothAddress) -> Bond? {
        isEmpty
            ? nil : Bond(peer: identity, adapter: adapter, encryptionKeys: encryptionKeys, identityKey: identityKey)
    }

    /// Starts again, for the next pairing on the same link.
    mutating func startAgain() {
        encryptionKeys = []
        identityKey = nil
    }
}
