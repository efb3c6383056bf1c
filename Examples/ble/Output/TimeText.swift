import BLEStreams
import Glibc

extension ReceptionTime {
    /// The local time of day, to the millisecond: `12:34:56.789`.
    var clockText: String {
        let (seconds, attoseconds) = sinceEpoch.components
        var moment = time_t(seconds)
        var parts = tm()
        localtime_r(&moment, &parts)
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 40) { buffer in
            guard let start = buffer.baseAddress, strftime(start, buffer.count, "%H:%M:%S", &parts) > 0 else {
                return ""
            }
            return String(cString: start)
        }
        let milliseconds = String(attoseconds / 1_000_000_000_000_000)
        return text + "." + String(repeating: "0", count: max(0, 3 - milliseconds.count)) + milliseconds
    }
}
