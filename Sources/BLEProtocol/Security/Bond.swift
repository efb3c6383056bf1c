/// The keys that two devices keep from a pairing, so that they can encrypt their next link without pairing again.
///
/// Printing, interpolating or dumping it shows no key. Source: Core Specification, Vol 3, Part C, 9.4, and Part H, 2.4.
public struct Bond: Hashable, Sendable {
    /// The peer's identity address.
    public var peer: BluetoothAddress

    /// The adapter that the keys belong to: the peer doesn't recognise other adapters of the same machine.
    public var adapter: BluetoothAddress

    /// The keys that encrypt a link; two if each role has its own.
    package var encryptionKeys: [EncryptionKey]

    /// The key that resolves the peer's private addresses, if it gave one.
    package var identityKey: SecretKey?

    /// The keys that these have deliberately replaced, while a radio is told of it: it may still hold them. Not stored.
    package var formerKeys: [EncryptionKey] = []

    package init(
        peer: BluetoothAddress,
        adapter: BluetoothAddress,
        encryptionKeys: [EncryptionKey] = [],
        identityKey: SecretKey? = nil
    ) {
        self.peer = peer
        self.adapter = adapter
        self.encryptionKeys = encryptionKeys
        self.identityKey = identityKey
    }

    /// Whether the pairing was protected against a man in the middle, by a passkey or by comparing numbers.
    public var isAuthenticated: Bool { encryptionKeys.contains { $0.isAuthenticated } }

    /// Whether its keys were made by LE Secure Connections.
    package var isSecureConnections: Bool { encryptionKeys.contains { $0.isSecureConnections } }

    /// The security level of a link that is encrypted with it.
    package var level: LinkSecurity.Level { encryptionKeys.map(\.level).min() ?? .encrypted }

    /// The length of its shortest key, in octets.
    package var keySize: UInt8 { encryptionKeys.map(\.size).min() ?? 0 }

    /// A key that encrypts a link, with what the kernel needs to know about it.
    package struct EncryptionKey: Hashable, Sendable {
        /// As the management interface numbers it: legacy or Secure Connections, authenticated or not.
        package var kind: UInt8
        /// The role for which it is valid, as the kernel numbers it.
        package var initiator: UInt8
        /// In octets, 7 to 16.
        package var size: UInt8
        package var diversifier: UInt16
        package var random: UInt64
        package var value: SecretKey

        package init(
            kind: UInt8,
            initiator: UInt8,
            size: UInt8,
            diversifier: UInt16,
            random: UInt64,
            value: SecretKey
        ) {
            self.kind = kind
            self.initiator = initiator
            self.size = size
            self.diversifier = diversifier
            self.random = random
            self.value = value
        }

        package var isAuthenticated: Bool { kind == 1 || kind == 3 }

        package var isSecureConnections: Bool { kind >= 2 }

        /// The security level of a link that is encrypted with it.
        package var level: LinkSecurity.Level {
            guard isAuthenticated else { return .encrypted }
            return isSecureConnections && size == 16 ? .secureConnections : .authenticated
        }
    }
}

extension Bond: CustomStringConvertible, CustomReflectable {
    /// The two addresses, and nothing of the keys.
    public var description: String { "bond of \(adapter) with \(peer)" }
    /// The two addresses, and nothing of the keys.
    public var customMirror: Mirror { Mirror(self, children: ["peer": peer, "adapter": adapter]) }
}
