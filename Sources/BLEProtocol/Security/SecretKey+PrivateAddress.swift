extension SecretKey {
    /// Whether an address is one that the owner of this Identity Resolving Key has made: a resolvable private address
    /// whose lower half is the hash of its upper half.
    ///
    /// Source: Core Specification, Vol 3, Part H, 2.2.2, the function ah, and Vol 6, Part B, 1.3.2.3.
    package func resolves(_ address: BluetoothAddress) -> Bool {
        guard address.subkind == .resolvablePrivate else { return false }
        // The kernel hands a key over with its least significant octet first, and AES takes the most significant first.
        let cipher = AES128(key: octets.reversed())
        let random = [40, 32, 24].map { UInt8(truncatingIfNeeded: address.rawValue >> $0) }
        let hash = cipher.encrypt([UInt8](repeating: 0, count: 13) + random).suffix(3)
        return hash.reduce(0) { $0 << 8 | UInt64($1) } == address.rawValue & 0xFF_FFFF
    }
}
