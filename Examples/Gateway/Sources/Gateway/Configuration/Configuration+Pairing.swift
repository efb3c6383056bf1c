import BLEStreams

extension Configuration {
    /// How the gateway pairs with a peripheral, where nobody is to answer its questions.
    public enum Pairing: Hashable, Sendable {
        /// Without questions. An attacker who is there while the two pair can read and change everything.
        case justWorks
        /// With the passkey of the peripheral, 0 to 999,999, which is always the same: printed on it, or in its manual.
        case passkey(UInt32)
    }
}

extension Configuration.Pairing: CustomStringConvertible, CustomReflectable {
    /// The method, without the passkey.
    public var description: String {
        switch self {
        case .justWorks: "just works"
        case .passkey: "a passkey"
        }
    }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Configuration.Pairing {
    /// Reads the section `pairing` of a peripheral.
    init(_ fields: inout ConfigurationFields) throws(ConfigurationError) {
        let file = try fields.optionalString("passkeyFile", "Write the path of a file with the passkey.")
        let isJustWorks = try fields.bool("justWorks", default: false)
        guard (file != nil) != isJustWorks else {
            throw ConfigurationError(
                field: fields.name("passkeyFile"),
                cause: isJustWorks ? "there is 'justWorks' as well" : "it is missing, and 'justWorks' is not true",
                remedy: "Write the path of a file with the passkey, or \"justWorks\": true if the peripheral has none."
            )
        }
        guard let file else {
            self = .justWorks
            return
        }
        let text = try SecretFile.text(in: file, fields.name("passkeyFile"))
        guard let passkey = UInt32(passkey: text) else {
            throw ConfigurationError(
                field: fields.name("passkeyFile"),
                cause: "\(file) doesn't contain a passkey",
                remedy: "Write the six digits into it, with leading zeros, and nothing else."
            )
        }
        self = .passkey(passkey)
    }

    /// The answers to the peripheral's questions.
    private var answers: PairingAnswers {
        switch self {
        case .justWorks: PairingAnswers()
        case .passkey(let passkey): .passkey(passkey)
        }
    }

    /// What each link must have: whoever has only the peripheral's address or name sends nothing that is published.
    private var level: LinkSecurity.Level {
        switch self {
        case .justWorks: .encrypted
        case .passkey: .authenticated
        }
    }

    /// Makes a link as secure as it says: with the bond if there is one, otherwise by pairing.
    func secure(_ link: Link) async throws {
        // For later links as well: on one that is encrypted already, Linux asks only as announced before it was made.
        link.peripheral.allowPairing(answers)
        try await link.secure(to: level, answers: answers)
    }
}
