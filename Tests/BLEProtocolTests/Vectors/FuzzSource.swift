/// Octets by chance, the same ones for the same seed (SplitMix64).
struct FuzzSource: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func octets(upTo count: Int) -> [UInt8] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }

    /// A few octets changed, the end cut off or something appended.
    mutating func mutated(_ octets: [UInt8]) -> [UInt8] {
        var octets = octets
        for _ in 0...Int.random(in: 0...3, using: &self) {
            switch Int.random(in: 0..<4, using: &self) {
            case 0 where !octets.isEmpty:
                octets[Int.random(in: octets.indices, using: &self)] = UInt8.random(in: .min ... .max, using: &self)
            case 1 where !octets.isEmpty:
                octets[Int.random(in: octets.indices, using: &self)] = Bool.random(using: &self) ? 0xFF : 0
            case 2:
                octets = Array(octets.prefix(Int.random(in: 0...octets.count, using: &self)))
            default:
                octets += self.octets(upTo: 8)
            }
        }
        return octets
    }
}
