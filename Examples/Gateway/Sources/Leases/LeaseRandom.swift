/// A small generator of numbers that look random, as a value: the same seed gives the same numbers.
public struct LeaseRandom: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// Makes a generator from a seed.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 to one less than `bound`; 0 if the bound isn't positive.
    public mutating func below(_ bound: Int64) -> Int64 { bound > 0 ? Int64(next() >> 1) % bound : 0 }
}
