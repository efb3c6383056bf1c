/// The octets of the fuzzer as decisions: what happens next, with which numbers; zeros behind their end.
struct FuzzInput {
    private var octets: ArraySlice<UInt8>

    init(_ octets: [UInt8]) { self.octets = octets[...] }

    var isAtEnd: Bool { octets.isEmpty }

    mutating func octet() -> UInt8 { octets.popFirst() ?? 0 }

    /// A number from 0 on; one octet decides, so at most 256.
    mutating func number(below count: Int) -> Int { Int(octet()) % count }

    mutating func chance() -> Bool { octet() & 1 == 1 }

    mutating func uint16() -> UInt16 { UInt16(octet()) | UInt16(octet()) << 8 }

    /// A handle, mostly a small one: ranges then meet.
    mutating func handle() -> UInt16 {
        let octet = octet()
        return octet < 0xF0 ? UInt16(octet) : uint16()
    }

    /// So many octets, as far as there are.
    mutating func octets(_ count: Int) -> [UInt8] {
        defer { octets = octets.dropFirst(count) }
        return Array(octets.prefix(count))
    }

    /// A length of one octet, and so many octets.
    mutating func chunk() -> [UInt8] { octets(Int(octet())) }

    /// Octets of which most don't matter: a length up to 600, and what to begin with.
    mutating func value() -> [UInt8] {
        let (count, first) = (Int(uint16()) % 600, octet())
        return (0..<count).map { UInt8(truncatingIfNeeded: $0) &+ first }
    }

    mutating func rest() -> [UInt8] { octets(octets.count) }
}
