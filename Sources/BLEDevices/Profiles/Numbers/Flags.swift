/// The bits that say which fields a value has, by their numbers.
struct Flags<Bits: FixedWidthInteger & UnsignedInteger & Sendable>: Sendable {
    private(set) var bits: Bits

    init(_ bits: Bits = 0) { self.bits = bits }

    /// Sets those of the listed bits whose condition holds.
    init(_ conditions: KeyValuePairs<Int, Bool>) {
        self.init()
        for (bit, isSet) in conditions where isSet { bits |= 1 << Bits(bit) }
    }

    subscript(bit: Int) -> Bool { bits >> Bits(bit) & 1 != 0 }

    /// Two bits that are a number.
    func pair(at bit: Int) -> Int { Int(bits >> Bits(bit) & 0b11) }
}
