/// Octets of an advertisement, read by offset; beyond the end they are zero, so the length must be checked first.
struct Octets {
    private let octets: [UInt8]

    init(_ octets: some Sequence<UInt8>) { self.octets = Array(octets) }

    var count: Int { octets.count }

    /// A number, most significant octet first.
    func unsigned(_ place: Int, _ count: Int) -> Int {
        (place..<place + count).reduce(0) { $0 << 8 | Int(octets.indices.contains($1) ? octets[$1] : 0) }
    }

    /// A number, least significant octet first.
    func littleEndian(_ place: Int, _ count: Int) -> Int {
        (place..<place + count).reversed().reduce(0) { $0 << 8 | Int(octets.indices.contains($1) ? octets[$1] : 0) }
    }

    /// A signed number, most significant octet first.
    func signed(_ place: Int, _ count: Int) -> Int { Self.signed(unsigned(place, count), count) }

    /// A number, least significant octet first.
    func signedLittleEndian(_ place: Int, _ count: Int) -> Int { Self.signed(littleEndian(place, count), count) }

    private static func signed(_ number: Int, _ count: Int) -> Int {
        number >> (8 * count - 1) == 0 ? number : number - 1 << (8 * count)
    }
}
