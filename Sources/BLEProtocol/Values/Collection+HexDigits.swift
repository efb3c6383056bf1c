extension Collection<UInt8> {
    /// The octets in lower-case hexadecimal.
    package var hexDigits: String {
        String(unsafeUninitializedCapacity: 2 * count) { text in
            var position = 0
            for octet in self {
                text[position] = Self.digit(octet >> 4)
                text[position + 1] = Self.digit(octet & 15)
                position += 2
            }
            return position
        }
    }

    private static func digit(_ number: UInt8) -> UInt8 {
        number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
    }
}
