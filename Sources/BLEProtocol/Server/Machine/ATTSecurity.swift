/// How the link to a client is protected, as the server's checks need it.
package struct ATTSecurity: Hashable, Sendable {
    package var isEncrypted: Bool
    /// Whether its keys were made with protection against a man in the middle.
    package var isAuthenticated: Bool
    /// The length of the encryption key in octets, 7 to 16; 0 while not encrypted.
    package var keySize: Int

    package init(isEncrypted: Bool, isAuthenticated: Bool, keySize: Int) {
        self.isEncrypted = isEncrypted
        self.isAuthenticated = isAuthenticated
        self.keySize = keySize
    }

    /// A link without encryption.
    package static let none = ATTSecurity(isEncrypted: false, isAuthenticated: false, keySize: 0)
}

extension AccessRequirement {
    /// Why a client may not, the first reason in the order in which a server tells them; `nil`: it may.
    func refusal(security: ATTSecurity, isAuthorized: Bool) -> ATTError? {
        if needsAuthentication, !(security.isEncrypted && security.isAuthenticated) {
            return .insufficientAuthentication
        }
        if needsEncryption, !security.isEncrypted { return .insufficientEncryption }
        if needsEncryption, security.keySize < minimumKeySize { return .encryptionKeySizeTooShort }
        if needsAuthorization, !isAuthorized { return .insufficientAuthorization }
        return nil
    }
}
