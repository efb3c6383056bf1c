import BLEStreams
import ConsoleOutput

/// The devices that a scan hears, as a table for a terminal: a line each, in the order of first reception.
struct ScanTable {
    /// What is known about one device.
    private struct Device {
        var sighting: Sighting
        /// The latest signal strengths, the last one at the end.
        var history: [Int] = []
        var heard: Duration

        /// Whether its signal strength counts; an old one doesn't.
        func isHeard(at now: Duration) -> Bool { now - heard < .seconds(10) }

        /// For sorting: its signal strength; a device without one comes later, then those that were heard last.
        func rank(at now: Duration) -> (strength: Int, heard: Duration) {
            isHeard(at: now) ? (sighting.rssi ?? -1000, .zero) : (.min, heard)
        }
    }

    /// The contents of one advertisement.
    struct Sighting {
        var address: String
        var rssi: Int?
        /// Its name, as the device gives it.
        var name: String?
        /// What else it advertises, in words.
        var details: String
    }

    /// How many devices are kept: passers-by change their addresses every 15 minutes, and a table may stay for weeks.
    static let limit = 4096

    /// The largest number of signal strengths in a sparkline.
    private static let longestHistory = 32

    private var devices: [String: Device] = [:]
    private var order: [String] = []
    private(set) var advertisements = 0

    /// How many devices there were; one that comes back after it was forgotten counts again.
    private(set) var count = 0

    /// Adds an advertisement. What it lacks, as many do without their scan response, stays as it was.
    mutating func add(_ sighting: Sighting, at time: Duration) {
        advertisements += 1
        var device = devices[sighting.address] ?? Device(sighting: sighting, heard: time)
        if devices[sighting.address] == nil {
            if order.count >= Self.limit { forgetOne() }
            order.append(sighting.address)
            count += 1
        }
        device.heard = time
        device.sighting.rssi = sighting.rssi ?? device.sighting.rssi
        device.sighting.name = sighting.name ?? device.sighting.name
        if !sighting.details.isEmpty { device.sighting.details = sighting.details }
        if let rssi = sighting.rssi { device.history = Array((device.history + [rssi]).suffix(Self.longestHistory)) }
        devices[sighting.address] = device
    }

    /// Forgets the device that has been silent for longest.
    private mutating func forgetOne() {
        guard let oldest = devices.min(by: { $0.value.heard < $1.value.heard })?.key else { return }
        devices[oldest] = nil
        order.removeAll { $0 == oldest }
    }

    /// The current table, in at most this many columns and rows; no line fills its last column.
    ///
    /// - Parameter isOver: whether the scan has ended, and Ctrl-C ends it no more.
    func lines(columns: Int, rows: Int, at now: Duration, isOver: Bool = false) -> [String] {
        let layout = Layout(columns: max(0, columns - 1))
        let room = max(1, rows - 3)
        let shown = strongest(room, at: now)
        var lines = [layout.line("ADDRESS", "dBm", "signal", "trend", "name", "advertises")]
        for device in shown {
            let sighting = device.sighting
            lines.append(
                layout.line(
                    sighting.address,
                    sighting.rssi.map { "\($0)" } ?? "",
                    device.isHeard(at: now)
                        ? Self.bar(sighting.rssi, layout.signal) : Self.age(now - device.heard),
                    Self.sparkline(device.history, layout.history),
                    sighting.name ?? "",
                    sighting.details
                )
            )
        }
        let rest = order.count - shown.count
        let total = "\(count) \(count == 1 ? "device" : "devices")"
        let hidesSilent = devices.values.count { !$0.isHeard(at: now) } > shown.count { !$0.isHeard(at: now) }
        let hidden = rest > 0 ? ["\(rest) weaker\(hidesSilent ? " or silent" : "") not shown"] : []
        let parts = [total] + hidden + ["\(advertisements) heard"] + (isOver ? [] : ["Ctrl-C ends"])
        lines.append(parts.joined(separator: ", ").fitted(to: layout.columns))
        return lines
    }

    /// At most so many devices, in the order of first reception: those received strongest, of equal ones the first.
    private func strongest(_ count: Int, at now: Duration) -> [Device] {
        let all = order.compactMap { devices[$0] }
        guard all.count > count else { return all }
        let ranks = all.map { $0.rank(at: now) }
        let places = all.indices.sorted { ranks[$0] == ranks[$1] ? $0 < $1 : ranks[$0] > ranks[$1] }
        return places.prefix(count).sorted().map { all[$0] }
    }

    /// A bar for a signal strength from -100 to -40 dBm, in eighths of a column.
    static func bar(_ rssi: Int?, _ width: Int) -> String {
        guard let rssi, width > 0 else { return "" }
        let eighths = min(max(rssi + 100, 1), 60) * width * 8 / 60
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        return String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    }

    /// How long ago something was, in no more columns than a bar has: `59 s ago`, `3 h ago`.
    private static func age(_ time: Duration) -> String {
        let seconds = Int(time.seconds)
        let units = [(1, "s"), (60, "m"), (3600, "h"), (86_400, "d")]
        let (length, name) = units.first { seconds / $0.0 < 100 } ?? (604_800, "w")
        return "\(seconds / length) \(name) ago"
    }

    /// A sparkline: each signal strength as a block of one of eight heights.
    static func sparkline(_ history: [Int], _ width: Int) -> String {
        let blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        return history.suffix(width).map { blocks[min(max(($0 + 100) * 8 / 60, 0), 7)] }.joined()
    }
}

/// The widths of the table's columns.
private struct Layout {
    let columns: Int
    let signal: Int
    let history: Int
    let name: Int
    let details: Int

    private static let address = 17
    private static let rssi = 4

    init(columns: Int) {
        self.columns = columns
        signal = columns >= 59 ? 8 : 0
        // On a narrow terminal a name needs the room more.
        history = columns >= 99 ? 20 : columns >= 74 ? 12 : columns >= 59 ? 8 : columns >= 49 ? 5 : 0
        let used = Self.address + 1 + Self.rssi + 1 + (signal > 0 ? signal + 1 : 0) + (history > 0 ? history + 1 : 0)
        let rest = max(0, columns - used)
        name = rest <= 24 ? rest : max(16, rest * 2 / 5)
        details = max(0, rest - name - 1)
    }

    func line(
        _ address: String,
        _ rssi: String,
        _ bar: String,
        _ spark: String,
        _ text: String,
        _ more: String
    ) -> String {
        let number = String(repeating: " ", count: max(0, Self.rssi - rssi.count)) + rssi
        var cells = [address.fitted(to: Self.address), number]
        if signal > 0 { cells.append(bar.fitted(to: signal)) }
        if history > 0 { cells.append(spark.fitted(to: history)) }
        cells.append(text.fitted(to: name))
        if details > 0 { cells.append(more.fitted(to: details)) }
        return cells.joined(separator: " ").fitted(to: columns)
    }
}
