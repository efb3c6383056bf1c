/// How well a link is protected (Core Specification, Vol 3, Part C, 10.2).
public struct LinkSecurity: Hashable, Sendable {
    /// Whether the link is encrypted. Somebody who has heard the two devices pair can read it all the same, unless they did so
    /// by LE Secure Connections: the key of a legacy pairing can be worked out, with a passkey too.
    public var isEncrypted: Bool

    /// Whether its keys were made with protection against a man in the middle.
    public var isAuthenticated: Bool

    /// Whether its keys were made by LE Secure Connections, as far as the radio tells: Linux does where they are
    /// authenticated too.
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

    /// The level that this amounts to; `nil` while not encrypted.
    public var level: SecurityLevel? {
        guard isEncrypted else { return nil }
        guard isAuthenticated else { return .encrypted }
        return isSecureConnections && keySize == 16 ? .secureConnections : .authenticated
    }
}

/// What can be demanded of a link's protection; each level has what those before it have.
///
/// Source: Core Specification, Vol 3, Part C, 10.2.1, LE security mode 1, levels 2 to 4.
public enum SecurityLevel: String, Hashable, Sendable, CaseIterable {
    /// Nobody listens, unless somebody stood between the two devices while they paired, or has heard a legacy pairing.
    case encrypted
    /// Somebody has made sure, with a passkey or by comparing numbers, that nobody stood between them; who has heard a legacy
    /// pairing listens all the same.
    case authenticated
    /// That by LE Secure Connections, with a key of 16 octets: who has heard the pairing can't work out the key either.
    case secureConnections
}

extension SecurityLevel: Comparable {
    public static func < (left: SecurityLevel, right: SecurityLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .encrypted: 2
        case .authenticated: 3
        case .secureConnections: 4
        }
    }
}

extension SecurityLevel: CustomStringConvertible {
    /// The level in words: `authenticated by LE Secure Connections`.
    public var description: String {
        switch self {
        case .encrypted: "encrypted"
        case .authenticated: "authenticated"
        case .secureConnections: "authenticated by LE Secure Connections"
        }
    }
}
