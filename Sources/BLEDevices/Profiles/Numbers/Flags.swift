/// The bits that indicate which fields a value has, by their numbers.
struct Flags<Bits: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
    private(set) var bits: Bits

    init(_ bits: Bits = 0) { self.bits = bits }

    /// Sets each listed bit whose condition holds.
    init(_ conditions: KeyValuePairs<Int, Bool>) {
        self.init()
        for (bit, isSet) in conditions where isSet { bits |= 1 << Bits(bit) }
    }

    subscript(bit: Int) -> Bool { bits >> Bits(bit) & 1 != 0 }

    /// A number of two bits.
    func pair(at bit: Int) -> Int { Int(bits >> Bits(bit) & 0b11) }
}
