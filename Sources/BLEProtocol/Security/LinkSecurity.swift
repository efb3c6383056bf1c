/// How well a link is protected (Core Specification, Vol 3, Part C, 10.2).
public struct LinkSecurity: Hashable, Sendable {
    /// Whether the link is encrypted. An attacker who has received the pairing can still read the link unless the
    /// devices used LE Secure Connections: the key of a legacy pairing can be computed, even one with a passkey.
    public var isEncrypted: Bool

    /// Whether its keys were made with protection against a man in the middle.
    public var isAuthenticated: Bool

    /// Whether its keys were made by LE Secure Connections, as far as the radio reports it: Linux does so only for
    /// authenticated keys.
    public var isSecureConnections: Bool

    /// The length of the encryption key in octets, 7 to 16; 0 while not encrypted.
    public var keySize: Int

    /// Describes a link's protection.
    public init(isEncrypted: Bool, isAuthenticated: Bool, isSecureConnections: Bool = false, keySize: Int) {
        self.isEncrypted = isEncrypted
        self.isAuthenticated = isAuthenticated
        self.isSecureConnections = isSecureConnections
        self.keySize = keySize
    }

    /// A link without encryption.
    public static let none = LinkSecurity(isEncrypted: false, isAuthenticated: false, keySize: 0)

    /// The corresponding level; `nil` while not encrypted.
    public var level: LinkSecurity.Level? {
        guard isEncrypted else { return nil }
        guard isAuthenticated else { return .encrypted }
        return isSecureConnections && keySize == 16 ? .secureConnections : .authenticated
    }
}

extension LinkSecurity {
    /// A level of protection that can be required of a link; each level includes those before it.
    ///
    /// Source: Core Specification, Vol 3, Part C, 10.2.1, LE security mode 1, levels 2 to 4.
    public enum Level: String, Hashable, Sendable, CaseIterable {
        /// Encrypted against eavesdroppers, except an attacker who was in the middle of the pairing or received a
        /// legacy pairing.
        case encrypted
        /// Also protected against a man in the middle, by a passkey or by comparing numbers; an attacker who has
        /// received a legacy pairing can still read the link.
        case authenticated
        /// The same by LE Secure Connections, with a key of 16 octets: even an attacker who has received the pairing
        /// can't compute the key.
        case secureConnections
    }
}

extension LinkSecurity.Level: Comparable {
    public static func < (left: LinkSecurity.Level, right: LinkSecurity.Level) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .encrypted: 2
        case .authenticated: 3
        case .secureConnections: 4
        }
    }
}

extension LinkSecurity.Level: CustomStringConvertible {
    /// The level in words: `authenticated by LE Secure Connections`.
    public var description: String {
        switch self {
        case .encrypted: "encrypted"
        case .authenticated: "authenticated"
        case .secureConnections: "authenticated by LE Secure Connections"
        }
    }
}
