import BLEProtocol
import FoundationEssentials

/// A ``Bond`` in a peer's file: keys in Base64, octets in the order of the management interface.
///
/// Printing, interpolating or dumping it shows no key.
struct BondRecord: Codable, Equatable, Sendable {
    struct Key: Codable, Equatable, Sendable {
        var kind: UInt8
        var initiator: UInt8
        var size: UInt8
        var diversifier: UInt16
        var random: UInt64
        var value: Data
    }

    var adapter: String
    var encryptionKeys: [Key]
    var identityKey: Data?

    init(_ bond: Bond) {
        adapter = bond.adapter.descriptionWithKind
        encryptionKeys = bond.encryptionKeys.map { key in
            Key(
                kind: key.kind,
                initiator: key.initiator,
                size: key.size,
                diversifier: key.diversifier,
                random: key.random,
                value: Data(key.value.octets)
            )
        }
        identityKey = bond.identityKey.map { Data($0.octets) }
    }

    /// The bond; `nil` if an address or a key in the file is invalid.
    func bond(with peer: BluetoothAddress) -> Bond? {
        guard let adapter = BluetoothAddress(adapter) else { return nil }
        var bond = Bond(peer: peer, adapter: adapter)
        for key in encryptionKeys {
            guard let value = SecretKey(octets: key.value) else { return nil }
            bond.encryptionKeys.append(
                Bond.EncryptionKey(
                    kind: key.kind,
                    initiator: key.initiator,
                    size: key.size,
                    diversifier: key.diversifier,
                    random: key.random,
                    value: value
                )
            )
        }
        if let identityKey {
            guard let value = SecretKey(octets: identityKey) else { return nil }
            bond.identityKey = value
        }
        return bond
    }
}

extension BondRecord: CustomStringConvertible, CustomReflectable {
    /// Without the keys.
    var description: String { "bond of \(adapter)" }
    /// Without the keys.
    var customMirror: Mirror { Mirror(self, children: ["adapter": adapter]) }
}

extension BondRecord.Key: CustomStringConvertible, CustomReflectable {
    /// Without the key.
    var description: String { "<key>" }
    /// Without the key.
    var customMirror: Mirror { Mirror(self, children: []) }
}
