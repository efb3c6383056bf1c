extension ReceptionTime {
    /// Date and time in the format of ISO 8601 and RFC 3339, in UTC, to the microsecond: `2024-01-01T00:00:00.000000Z`.
    ///
    /// Fractions of a microsecond are cut off. Years beyond 9999 have more digits, those before 0000 a minus sign.
    public var isoText: String {
        var (seconds, attoseconds) = sinceEpoch.components
        if attoseconds < 0 {
            seconds -= 1
            attoseconds += 1_000_000_000_000_000_000
        }
        // Rounded down, even before 1970.
        let secondOfDay = (seconds % 86_400 + 86_400) % 86_400
        let day = (seconds - secondOfDay) / 86_400
        let date = Self.date(day)
        let isUsual = (0...9999).contains(date.year)
        let text = String(unsafeUninitializedCapacity: 27) { text in
            var digits = Digits(text: text)
            if isUsual { digits.put(date.year, 4) }
            digits.put("-", date.month, 2)
            digits.put("-", date.day, 2)
            digits.put("T", secondOfDay / 3600, 2)
            digits.put(":", secondOfDay / 60 % 60, 2)
            digits.put(":", secondOfDay % 60, 2)
            digits.put(".", attoseconds / 1_000_000_000_000, 6)
            digits.put("Z")
            return digits.count
        }
        return isUsual ? text : Self.padded(date.year, 4) + text
    }

    /// The date that is this number of days after 1970-01-01, in the proleptic Gregorian calendar.
    ///
    /// Counts years that begin with March, so that the leap day is the last day of its year.
    private static func date(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let daysInEra: Int64 = 146_097
        // From 0000-03-01; an era is 400 years.
        let shifted = day + 719_468
        let dayOfEra = (shifted % daysInEra + daysInEra) % daysInEra
        let era = (shifted - dayOfEra) / daysInEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number.magnitude)
        return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// Writes numbers of a known width. Loggers write a time for each value, and strings of parts would cost ten times as
/// much.
private struct Digits {
    let text: UnsafeMutableBufferPointer<UInt8>
    var count = 0

    init(text: UnsafeMutableBufferPointer<UInt8>) { self.text = text }

    mutating func put(_ sign: Unicode.Scalar) {
        text[count] = UInt8(ascii: sign)
        count += 1
    }

    mutating func put(_ number: Int64, _ width: Int) {
        var rest = number
        for position in (count..<count + width).reversed() {
            text[position] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        count += width
    }

    mutating func put(_ sign: Unicode.Scalar, _ number: Int64, _ width: Int) {
        put(sign)
        put(number, width)
    }
}

extension ReceptionTime: CustomStringConvertible {
    /// The same as ``isoText``.
    public var description: String { isoText }
}
