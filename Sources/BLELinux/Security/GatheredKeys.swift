internal import BLEProtocol
internal import BLERadio

/// The keys that one pairing makes, as the kernel tells them one by one: the peer's identity, then one key of LE Secure
/// Connections, or one for each role of a legacy pairing.
struct GatheredKeys: Hashable, Sendable {
    /// Whose they are: the address of its link.
    let peer: BluetoothAddress
    /// The peer as the keys name it: its identity, where it told one.
    private(set) var identity: BluetoothAddress
    private var encryptionKeys: [Bond.EncryptionKey] = []
    private var identityKey: SecretKey?

    init(of peer: BluetoothAddress) {
        self.peer = peer
        identity = peer
    }

    /// Whether there is no key to keep.
    var isEmpty: Bool { encryptionKeys.isEmpty }

    /// Whether no other key can be missing.
    var isWhole: Bool { encryptionKeys.contains { $0.kind >= 2 } || encryptionKeys.count > 1 }

    /// Whether an address, as the kernel names it, is the peer's.
    func isOwn(_ address: BluetoothAddress) -> Bool { address == peer || address == identity }

    /// Takes an event; whether it brought one of the peer's keys that encrypt links, be it for this link alone.
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

    /// The bond of an adapter with the peer; `nil` where there is no key to keep.
    func bond(of adapter: BluetoothAddress) -> Bond? {
        isEmpty
            ? nil : Bond(peer: identity, adapter: adapter, encryptionKeys: encryptionKeys, identityKey: identityKey)
    }

    /// For the next pairing on the same link.
    mutating func startAgain() {
        encryptionKeys = []
        identityKey = nil
    }
}
