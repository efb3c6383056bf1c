/// What an attribute requires of a client before it may read or write it.
///
/// Source: Core Specification, Vol 3, Part F, 3.2.5, and Part C, 10.3.
public struct AccessRequirement: Hashable, Sendable {
    /// Whether the link must be encrypted; otherwise the client gets Insufficient Encryption if there is a bond with
    /// it, and Insufficient Authentication if the two must pair first.
    public var needsEncryption: Bool

    /// Whether the link's keys must have been made with protection against a man in the middle; otherwise the client
    /// gets Insufficient Authentication.
    public var needsAuthentication: Bool

    /// The shortest permitted encryption key, 7 to 16 octets; a client with a shorter one gets Encryption Key Size Too
    /// Short.
    public var minimumKeySize: Int

    /// Whether the program must have authorized the client; else it gets Insufficient Authorization.
    package var needsAuthorization: Bool

    private init(needsEncryption: Bool, needsAuthentication: Bool, minimumKeySize: Int) {
        self.needsEncryption = needsEncryption
        self.needsAuthentication = needsAuthentication
        self.minimumKeySize = minimumKeySize
        needsAuthorization = false
    }

    /// No requirement: every client may.
    public static let open = AccessRequirement(
        needsEncryption: false,
        needsAuthentication: false,
        minimumKeySize: shortestKey
    )

    /// The link must be encrypted.
    public static let encrypted = encrypted(keySize: shortestKey)

    /// The link must be encrypted, with keys that were made with protection against a man in the middle.
    public static let authenticated = authenticated(keySize: shortestKey)

    /// The link must be encrypted with a key of at least this many octets, 7 to 16.
    public static func encrypted(keySize: Int) -> AccessRequirement {
        AccessRequirement(needsEncryption: true, needsAuthentication: false, minimumKeySize: keySize)
    }

    /// The link must be encrypted and authenticated, with a key of at least this many octets, 7 to 16.
    public static func authenticated(keySize: Int) -> AccessRequirement {
        AccessRequirement(needsEncryption: true, needsAuthentication: true, minimumKeySize: keySize)
    }

    /// The same requirement, and the program must have authorized the client; otherwise the client gets Insufficient
    /// Authorization.
    public var authorized: AccessRequirement {
        var requirement = self
        requirement.needsAuthorization = true
        return requirement
    }

    /// The shortest key that the Security Manager ever makes (Vol 3, Part H, 2.3.4).
    private static let shortestKey = 7
}
