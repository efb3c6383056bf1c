import BLEStreams
import Glibc

extension ReceptionTime {
    /// Date and time as ISO 8601 has it, in UTC, to the microsecond: `2024-01-01T00:00:00.000000Z`.
    var isoText: String { text("%Y-%m-%dT%H:%M:%S", fraction: 6, gmtime_r) + "Z" }

    /// The time of day where this machine stands, to the millisecond: `12:34:56.789`.
    var clockText: String { text("%H:%M:%S", fraction: 3, localtime_r) }

    private func text(
        _ format: String,
        fraction digits: Int,
        _ split: (UnsafePointer<time_t>?, UnsafeMutablePointer<tm>?) -> UnsafeMutablePointer<tm>?
    ) -> String {
        let (seconds, attoseconds) = sinceEpoch.components
        var moment = time_t(seconds)
        var parts = tm()
        _ = split(&moment, &parts)
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { buffer in
            guard let start = buffer.baseAddress, strftime(start, buffer.count, format, &parts) > 0 else { return "" }
            return String(cString: start)
        }
        let microseconds = String(attoseconds / 1_000_000_000_000)
        let padded = String(repeating: "0", count: max(0, 6 - microseconds.count)) + microseconds
        return text + "." + padded.prefix(digits)
    }
}
