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
}

extension SecurityLevel {
    /// The kernel's number for it.
    var kernelLevel: UInt8 {
        switch self {
        case .encrypted: 2
        case .authenticated: 3
        case .secureConnections: 4
        }
    }
}
