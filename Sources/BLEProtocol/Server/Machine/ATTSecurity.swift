/// The protection of the link to a client, as the server's checks need it.
package struct ATTSecurity: Hashable, Sendable {
    package var isEncrypted: Bool
    /// Whether its keys were made with protection against a man in the middle.
    package var isAuthenticated: Bool
    /// The length of the encryption key in octets, 7 to 16; 0 while not encrypted.
    package var keySize: Int
    /// Whether there is a bond's key with the client that can encrypt the link.
    package var hasKey: Bool

    package init(isEncrypted: Bool, isAuthenticated: Bool, keySize: Int, hasKey: Bool = false) {
        self.isEncrypted = isEncrypted
        self.isAuthenticated = isAuthenticated
        self.keySize = keySize
        self.hasKey = hasKey
    }

    /// A link without encryption.
    package static let none = ATTSecurity(isEncrypted: false, isAuthenticated: false, keySize: 0)
}

extension AccessRequirement {
    /// Why access is refused: the first reason in the order that servers use; `nil`: access is permitted.
    ///
    /// Without encryption, Insufficient Encryption tells a client that there is a key for it, and Insufficient
    /// Authentication that the two must pair first. Source: Core Specification, Vol 3, Part C, 10.3.1.
    func refusal(security: ATTSecurity, isAuthorized: Bool) -> ATTError? {
        if needsEncryption, !security.isEncrypted {
            return security.hasKey ? .insufficientEncryption : .insufficientAuthentication
        }
        if needsAuthentication, !security.isAuthenticated { return .insufficientAuthentication }
        if needsEncryption, security.keySize < minimumKeySize { return .encryptionKeySizeTooShort }
        if needsAuthorization, !isAuthorized { return .insufficientAuthorization }
        return nil
    }
}
