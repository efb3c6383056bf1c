/// The key with which a client signs unencrypted writes: the Connection Signature Resolving Key that was exchanged
/// during bonding.
///
/// Printing, interpolating or dumping it shows no octet of it.
/// Source: Core Specification, Vol 3, Part H, 2.4.5, and Part C, 10.4.
public struct SigningKey: Hashable, Sendable {
    // Shows no octet of itself.
    private let key: SecretKey

    /// Takes the sixteen octets of the key, least significant first: as the Security Manager and the kernel deliver
    /// them; `nil` for another number.
    public init?(octets: some Collection<UInt8>) {
        guard let key = SecretKey(octets: octets) else { return nil }
        self.key = key
    }

    /// The signature of a PDU: the counter, and eight octets that prove the key.
    ///
    /// - Parameters:
    ///   - message: the PDU without its signature: opcode, handle and value.
    ///   - counter: greater than that of any earlier signature with the same key.
    /// - Returns: 12 octets, in their order on air.
    package func signature(of message: [UInt8], counter: UInt32) -> [UInt8] {
        let counterOctets = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt32($0))) }
        // The Attribute Protocol sends the least significant octet first; the code is computed with the most
        // significant first.
        let code = AESCMAC(key: key.octets.reversed()).code(of: (message + counterOctets).reversed())
        return counterOctets + code.prefix(8).reversed()
    }
}
