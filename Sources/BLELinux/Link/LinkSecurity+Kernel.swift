internal import BLERadio

extension LinkSecurity {
    /// What the kernel's security levels mean: 1 nothing, 2 encrypted, 3 authenticated, 4 authenticated by LE Secure
    /// Connections. Source: kernel, `include/net/bluetooth/bluetooth.h`.
    init(level: UInt8, keySize: UInt8) {
        let isEncrypted = level >= 2
        self.init(
            isEncrypted: isEncrypted,
            isAuthenticated: level >= 3,
            isSecureConnections: level >= 4,
            keySize: isEncrypted ? Int(keySize) : 0
        )
    }

    /// The security that the kernel reports for a link, limited to the level that it had, or that its key has, before a
    /// failed pairing for better keys.
    ///
    /// - Parameter ceiling: that level; `nil` if none has failed. The size of the key is always the one reported.
    init(level: UInt8, keySize: UInt8, upTo ceiling: LinkSecurity?) {
        self.init(level: level, keySize: keySize)
        guard let ceiling, let reported = self.level, reported > ceiling.level ?? .encrypted else { return }
        self = ceiling.level.map { LinkSecurity(level: $0.kernelLevel, keySize: keySize) } ?? ceiling
    }
}

extension LinkSecurity.Level {
    /// The kernel's number for this security.
    var kernelLevel: UInt8 {
        switch self {
        case .encrypted: 2
        case .authenticated: 3
        case .secureConnections: 4
        }
    }
}
