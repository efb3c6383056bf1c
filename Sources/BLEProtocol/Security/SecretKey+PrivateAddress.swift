extension SecretKey {
    /// Whether the owner of this Identity Resolving Key made an address: a resolvable private address whose lower half
    /// is the hash of its upper half.
    ///
    /// Source: Core Specification, Vol 3, Part H, 2.2.2, the function ah, and Vol 6, Part B, 1.3.2.3.
    package func resolves(_ address: BluetoothAddress) -> Bool {
        address.subkind == .resolvablePrivate && hash(address.rawValue >> 24) == address.rawValue & 0xFF_FFFF
    }

    /// One of the addresses that the owner of this Identity Resolving Key can have.
    ///
    /// - Parameter random: 22 random bits.
    package func privateAddress(_ random: UInt64) -> BluetoothAddress {
        let upper = random & 0x3F_FFFF | 0x40_0000
        return BluetoothAddress(rawValue: upper << 24 | hash(upper), kind: .random)
    }

    private func hash(_ upper: UInt64) -> UInt64 {
        // The kernel delivers a key with its least significant octet first; AES takes the most significant first.
        let cipher = AES128(key: octets.reversed())
        let random = [16, 8, 0].map { UInt8(truncatingIfNeeded: upper >> $0) }
        let hash = cipher.encrypt([UInt8](repeating: 0, count: 13) + random).suffix(3)
        return hash.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
