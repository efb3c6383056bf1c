import BLEStreams

/// The advertisements of the last time, by address and payload: each is published once in a window.
struct RecentAdvertisements {
    private struct Key: Hashable {
        var address: BluetoothAddress
        var payload: [UInt8]
    }

    /// The most that are remembered; beyond it, the oldest are forgotten, and may be published again early.
    static let limit = 4096

    let window: Double
    /// When each was published last, and how many were left out since.
    private var seen: [Key: (time: Double, repeats: Int)] = [:]

    /// How many are remembered.
    var count: Int { seen.count }

    init(window: Double) { self.window = window }

    /// Whether an advertisement is to be published.
    ///
    /// - Returns: how many equal ones were left out since the last one that was published; `nil` if it is left out.
    mutating func take(_ address: BluetoothAddress, _ payload: [UInt8], at time: Double) -> Int? {
        let key = Key(address: address, payload: payload)
        if let last = seen[key], time - last.time < window, time >= last.time {
            seen[key]?.repeats += 1
            return nil
        }
        let repeats = seen[key]?.repeats ?? 0
        if seen[key] == nil, seen.count >= Self.limit { forget(at: time) }
        seen[key] = (time, 0)
        return repeats
    }

    /// Forgets those whose window is over, or else the older half. One that was published far later than now is of a
    /// clock that was set back since, and would stay for ever, in place of newer ones.
    private mutating func forget(at time: Double) {
        seen = seen.filter { abs(time - $0.value.time) < window }
        guard seen.count >= Self.limit else { return }
        let times = seen.values.map(\.time).sorted()
        let middle = times[times.count / 2]
        seen = seen.filter { $0.value.time > middle }
    }
}
