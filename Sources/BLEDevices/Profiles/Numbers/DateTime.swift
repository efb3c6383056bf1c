/// A date and a time of day without a time zone, from a device's clock (GATT Specification Supplement, Date Time).
public struct DateTime: Hashable, Sendable {
    /// 1582 to 9999; 0: unknown.
    public var year: Int
    /// 1 to 12; 0: unknown.
    public var month: Int
    /// 1 to 31; 0: unknown.
    public var day: Int
    /// 0 to 23.
    public var hours: Int
    /// 0 to 59.
    public var minutes: Int
    /// 0 to 59.
    public var seconds: Int

    /// Creates a value from its parts.
    public init(year: Int, month: Int, day: Int, hours: Int = 0, minutes: Int = 0, seconds: Int = 0) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hours, self.minutes, self.seconds) = (hours, minutes, seconds)
    }

    /// Whether year, month and day are known.
    public var isDateKnown: Bool { year != 0 && month != 0 && day != 0 }
}

extension DateTime: Comparable {
    public static func < (left: DateTime, right: DateTime) -> Bool {
        (left.year, left.month, left.day) == (right.year, right.month, right.day)
            ? (left.hours, left.minutes, left.seconds) < (right.hours, right.minutes, right.seconds)
            : (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}

extension DateTime: CustomStringConvertible {
    /// As in ISO 8601, without a zone: `2026-11-25T02:20:00`.
    public var description: String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = [digits(year, 4), digits(month, 2), digits(day, 2)].joined(separator: "-")
        return date + "T" + [hours, minutes, seconds].map { digits($0, 2) }.joined(separator: ":")
    }
}
