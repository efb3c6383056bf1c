extension UnsignedInteger where Self: FixedWidthInteger {
    /// The number in upper-case hexadecimal after `0x`, with all the digits of its width: `0x002A`.
    package var hexadecimal: String {
        let digits = String(self, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
    }
}
