/// Sixteen octets of key material: a Long Term Key, an Identity Resolving Key, a signing key.
///
/// It can be stored and compared; printing, interpolating or dumping it shows no octet of it.
package struct SecretKey: Hashable, Sendable {
    private let first: UInt64
    private let last: UInt64

    /// Takes the sixteen octets of a key in the order of the kernel; `nil` for another number of octets.
    package init?(octets: some Collection<UInt8>) {
        guard octets.count == 16 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for octet in octets {
            halves.0 = halves.0 << 8 | halves.1 >> 56
            halves.1 = halves.1 << 8 | UInt64(octet)
        }
        first = halves.0
        last = halves.1
    }

    /// The sixteen octets: for storage and for the kernel, never for a log.
    package var octets: [UInt8] {
        [first, last].flatMap { half in
            (0..<8).reversed().map { UInt8(truncatingIfNeeded: half >> (8 * UInt64($0))) }
        }
    }
}

extension SecretKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<key>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
