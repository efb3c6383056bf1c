import BLEProtocol
import Testing

@Suite struct ReceptionTimeTests {
    /// Seconds since 1970 and the text, as `date --utc --iso-8601=seconds --date=@N` prints it.
    static let moments: [(Int64, String)] = [
        (0, "1970-01-01T00:00:00"),
        (951_782_400, "2000-02-29T00:00:00"),
        (951_868_799, "2000-02-29T23:59:59"),
        (951_868_800, "2000-03-01T00:00:00"),
        (1_704_067_200, "2024-01-01T00:00:00"),
        (1_709_164_800, "2024-02-29T00:00:00"),
        (1_735_689_599, "2024-12-31T23:59:59"),
        (4_107_542_399, "2100-02-28T23:59:59"),
        (4_107_542_400, "2100-03-01T00:00:00"),
        (253_402_300_799, "9999-12-31T23:59:59"),
        (253_402_300_800, "10000-01-01T00:00:00"),
        (-1, "1969-12-31T23:59:59"),
        (-2_203_891_200, "1900-03-01T00:00:00"),
        (-62_135_596_800, "0001-01-01T00:00:00"),
    ]

    @Test(arguments: moments) func `a time as ISO 8601 text`(seconds: Int64, text: String) {
        let time = ReceptionTime(sinceEpoch: .seconds(seconds), source: .kernel)
        #expect(time.isoText == text + ".000000Z")
        #expect("\(time)" == time.isoText)
    }

    @Test func `what is less than a microsecond is left out, before 1970 too`() {
        let parts = ReceptionTime(sinceEpoch: .seconds(1) + .nanoseconds(1_002_003), source: .kernel)
        #expect(parts.isoText == "1970-01-01T00:00:01.001002Z")
        let before = ReceptionTime(sinceEpoch: .microseconds(-1), source: .kernel)
        #expect(before.isoText == "1969-12-31T23:59:59.999999Z")
    }

    @Test func `each day of 800 years follows the one before`() {
        var (year, month, day) = (1600, 1, 1)
        for number in Int64(-135_140)..<(-135_140 + 2 * 146_097) {
            let time = ReceptionTime(sinceEpoch: .seconds(number * 86_400), source: .kernel)
            let (monthText, dayText) = (month < 10 ? "0\(month)" : "\(month)", day < 10 ? "0\(day)" : "\(day)")
            guard time.isoText.hasPrefix("\(year)-\(monthText)-\(dayText)T00:00:00") else {
                Issue.record("day \(number) is \(time.isoText), and not \(year)-\(monthText)-\(dayText)")
                return
            }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
            day += 1
            if day > days { (day, month) = (1, month + 1) }
            if month > 12 { (month, year) = (1, year + 1) }
        }
        #expect((year, month, day) == (2400, 1, 1))
    }
}
