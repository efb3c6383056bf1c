import BLEProtocol
import BLERadio

/// Which scans want which devices' advertisements, as far as known; a value.
///
/// A device repeats its advertisement many times a second, and dozens of scans may listen: whether a payload matches a
/// scan's filters is determined once, and remembered until the device sends another one. The signal strength, which
/// differs each time, is checked each time, and so are private addresses, whose identities may become known; fields
/// that no scan filters for are never parsed.
struct ScanMemory {
    /// What a device sent last, and for which scans it is known whether they want that: a bit for each.
    private struct Entry {
        let data: AdvertisingData
        let isConnectable: Bool
        var asked: UInt64 = 0
        var wanted: UInt64 = 0

        func isOf(_ report: AdvertisingReport) -> Bool {
            isConnectable == report.isConnectable && data == report.data
        }
    }

    /// Private addresses change every 15 minutes: at this number all are forgotten.
    private static let limit = 1024

    private var entries: [BluetoothAddress: Entry] = [:]
    /// The version of the list of scans that the bits refer to.
    private var version = 0

    /// Determines which of these scans want an advertisement.
    ///
    /// - Parameters:
    ///   - criteria: the criteria of all scans, in order.
    ///   - version: counts the changes of that list.
    ///   - choose: called with the index of each scan that wants it.
    mutating func choose(
        _ report: AdvertisingReport,
        among criteria: [ScanCriteria],
        version: Int,
        _ choose: (Int) -> Void
    ) {
        if self.version != version || entries.count > Self.limit { (entries, self.version) = ([:], version) }
        var index = entries.index(forKey: report.address)
        if let found = index, !entries.values[found].isOf(report) { index = nil }
        for place in criteria.indices where criteria[place].matchesNow(report) {
            guard place < UInt64.bitWidth else {
                if criteria[place].matchesContent(of: report) { choose(place) }
                continue
            }
            let known = index ?? remember(report)
            index = known
            if isWanted(report, by: criteria[place], 1 << UInt64(place), known) { choose(place) }
        }
    }

    private mutating func remember(_ report: AdvertisingReport) -> Dictionary<BluetoothAddress, Entry>.Index {
        entries[report.address] = Entry(data: report.data, isConnectable: report.isConnectable)
        return entries.index(forKey: report.address) ?? entries.startIndex
    }

    private mutating func isWanted(
        _ report: AdvertisingReport,
        by criteria: ScanCriteria,
        _ bit: UInt64,
        _ index: Dictionary<BluetoothAddress, Entry>.Index
    ) -> Bool {
        if entries.values[index].asked & bit == 0 {
            entries.values[index].asked |= bit
            if criteria.matchesContent(of: report) { entries.values[index].wanted |= bit }
        }
        return entries.values[index].wanted & bit != 0
    }
}
