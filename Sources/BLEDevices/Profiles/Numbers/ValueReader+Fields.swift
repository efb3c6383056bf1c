public import BLEStreams

extension ValueReader {
    /// Three octets.
    public mutating func uint24() throws(MalformedValue) -> UInt32 {
        let low = try uint16()
        return UInt32(low) | UInt32(try uint8()) << 16
    }

    /// Three octets, signed.
    public mutating func int24() throws(MalformedValue) -> Int32 { Int32(bitPattern: try uint24() << 8) >> 8 }

    /// Two octets: a decimal number of a medical device.
    public mutating func sfloat() throws(MalformedValue) -> MedicalNumber {
        MedicalNumber(bits: UInt32(try uint16()), .short)
    }

    /// Four octets: a decimal number of a medical device.
    public mutating func float() throws(MalformedValue) -> MedicalNumber { MedicalNumber(bits: try uint32(), .long) }

    /// Seven octets: a date and a time of day.
    public mutating func dateTime() throws(MalformedValue) -> DateTime {
        DateTime(
            year: Int(try uint16()),
            month: Int(try uint8()),
            day: Int(try uint8()),
            hours: Int(try uint8()),
            minutes: Int(try uint8()),
            seconds: Int(try uint8())
        )
    }

    /// The remaining octets as text, without trailing zero octets, with which some devices pad their strings.
    public mutating func text() throws(MalformedValue) -> String { try text(isCut: false) }

    /// The same; of text that goes on beyond the value, the part of a character at the end is dropped.
    mutating func text(isCut: Bool) throws(MalformedValue) -> String {
        var whole = Self.withoutPadding(try bytes(remaining.count))
        // Zero octets may stand before the part of a character.
        if isCut { whole = Self.withoutPadding(Self.withoutPartOfCharacter(whole)) }
        guard let text = String(validating: whole, as: UTF8.self) else {
            throw MalformedValue("the octets are not UTF-8")
        }
        return text
    }

    private static func withoutPadding(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        octets[..<(octets.lastIndex { $0 != 0 }.map { $0 + 1 } ?? octets.startIndex)]
    }

    /// The octets without the beginning of a character in UTF-8 that has more octets than there are.
    private static func withoutPartOfCharacter(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        // The first octet of a character, and at most two of the others, may be there without the rest.
        guard let first = octets.suffix(3).lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return octets }
        let size =
            switch octets[first] {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        return octets.endIndex - first < size ? octets[..<first] : octets
    }

    // MARK: - Fields indicated by a flag

    mutating func uint8(if isThere: Bool) throws(MalformedValue) -> Int? { isThere ? Int(try uint8()) : nil }
    mutating func uint16(if isThere: Bool) throws(MalformedValue) -> Int? { isThere ? Int(try uint16()) : nil }
    mutating func int16(if isThere: Bool) throws(MalformedValue) -> Int? { isThere ? Int(try int16()) : nil }
    mutating func uint24(if isThere: Bool) throws(MalformedValue) -> Int? { isThere ? Int(try uint24()) : nil }
    mutating func uint32(if isThere: Bool) throws(MalformedValue) -> Int? { isThere ? Int(try uint32()) : nil }
    mutating func sfloat(if isThere: Bool) throws(MalformedValue) -> MedicalNumber? { isThere ? try sfloat() : nil }
    mutating func dateTime(if isThere: Bool) throws(MalformedValue) -> DateTime? { isThere ? try dateTime() : nil }
}
