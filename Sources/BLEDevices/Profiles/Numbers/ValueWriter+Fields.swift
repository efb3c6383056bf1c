public import BLEStreams

extension ValueWriter {
    /// Three octets; the highest octet of the number is dropped.
    public mutating func uint24(_ value: UInt32) {
        uint16(UInt16(truncatingIfNeeded: value))
        uint8(UInt8(truncatingIfNeeded: value >> 16))
    }

    /// Two octets: a decimal number of a medical device.
    ///
    /// - Throws: `MalformedValue` for more than 12 bits of digits, or an exponent beyond -8...7.
    public mutating func sfloat(_ number: MedicalNumber) throws(MalformedValue) {
        guard let bits = number.bits(.short) else { throw MalformedValue("\(number) has no 16-bit form") }
        uint16(UInt16(bits))
    }

    /// Four octets: a decimal number of a medical device.
    ///
    /// - Throws: `MalformedValue` for more than 24 bits of digits, or an exponent beyond -128...127.
    public mutating func float(_ number: MedicalNumber) throws(MalformedValue) {
        guard let bits = number.bits(.long) else { throw MalformedValue("\(number) has no 32-bit form") }
        uint32(bits)
    }

    /// Seven octets: a date and a time of day.
    ///
    /// - Throws: `MalformedValue` for a field out of the range of its octets.
    public mutating func dateTime(_ time: DateTime) throws(MalformedValue) {
        try put(time.year, as: UInt16.self, "the year")
        try put(time.month, as: UInt8.self, "the month")
        try put(time.day, as: UInt8.self, "the day")
        try put(time.hours, as: UInt8.self, "the hours")
        try put(time.minutes, as: UInt8.self, "the minutes")
        try put(time.seconds, as: UInt8.self, "the seconds")
    }

    // MARK: - Fields indicated by a flag

    mutating func put<Field: FixedWidthInteger>(
        _ value: Int?,
        as field: Field.Type,
        _ name: String
    ) throws(MalformedValue) {
        guard let value else { return }
        guard let value = Field(exactly: value) else {
            throw MalformedValue("\(name), \(value), is not between \(Field.min) and \(Field.max)")
        }
        for shift in stride(from: 0, to: Field.bitWidth, by: 8) { uint8(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    /// A value in fractional steps: 21.5 by 100 is 2150.
    mutating func put<Field: FixedWidthInteger>(
        _ value: Double?,
        by steps: Double,
        as field: Field.Type,
        _ name: String
    ) throws(MalformedValue) {
        guard let value else { return }
        guard let number = Field(exactly: (value * steps).rounded()) else {
            let (least, most) = (Double(Field.min) / steps, Double(Field.max) / steps)
            throw MalformedValue("\(name), \(value), is not between \(least) and \(most)")
        }
        try put(Int(number), as: field, name)
    }

    mutating func put(_ number: MedicalNumber?) throws(MalformedValue) { if let number { try sfloat(number) } }
    mutating func put(_ time: DateTime?) throws(MalformedValue) { if let time { try dateTime(time) } }

    mutating func put24(_ value: Int?, _ name: String) throws(MalformedValue) {
        try put24(value.map { Double($0) }, by: 1, name)
    }

    mutating func put24(_ value: Double?, by steps: Double, _ name: String) throws(MalformedValue) {
        guard let value else { return }
        guard let number = UInt32(exactly: (value * steps).rounded()), number < 1 << 24 else {
            throw MalformedValue("\(name), \(value), is not between 0 and \(Double(1 << 24 - 1) / steps)")
        }
        uint24(number)
    }

    /// Metres, in steps of 0.01, signed.
    mutating func putElevation(_ metres: Double?) throws(MalformedValue) {
        guard let metres else { return }
        guard let number = Int32(exactly: (metres * 100).rounded()), (-1 << 23..<1 << 23).contains(number) else {
            throw MalformedValue("the elevation, \(metres) m, is not between -83886.07 and 83886.07")
        }
        uint24(UInt32(bitPattern: number))
    }
}
