import BLEProtocol
import BLERadio

/// Which scans want which devices' advertisements, as far as that has shown; a value.
///
/// A device repeats its advertisement many times a second, and dozens of scans may listen: whether a payload matches a
/// scan's filters is found out once, and remembered until the device sends another one. What differs each time, the
/// signal, is looked at each time, and what no scan has filters for is never looked into.
struct ScanMemory {
    /// What a device sent last, and of which scans it is known whether they want that: a bit for each.
    private struct Entry {
        let data: AdvertisingData
        let isConnectable: Bool
        var asked: UInt64 = 0
        var wanted: UInt64 = 0

        func isOf(_ report: AdvertisingReport) -> Bool {
            isConnectable == report.isConnectable && data == report.data
        }
    }

    /// Private addresses change every quarter of an hour: with so many all are forgotten.
    private static let limit = 1024

    private var entries: [BluetoothAddress: Entry] = [:]
    /// Whose bits they are: the scans that there were at the last change of them.
    private var version = 0

    /// Tells which of these scans want an advertisement.
    ///
    /// - Parameters:
    ///   - criteria: those of all scans, in their order.
    ///   - version: counts the changes of that list.
    ///   - choose: called with the place of each that wants it.
    mutating func choose(
        _ report: AdvertisingReport,
        among criteria: [ScanCriteria],
        version: Int,
        _ choose: (Int) -> Void
    ) {
        if self.version != version || entries.count > Self.limit { (entries, self.version) = ([:], version) }
        var index = entries.index(forKey: report.address)
        if let found = index, !entries.values[found].isOf(report) { index = nil }
        for place in criteria.indices where criteria[place].matchesSignal(of: report) {
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
