internal import BLEProtocol
internal import BLERadio

/// Merges an advertisement and its scan response, and the fragments of a long one, into one report.
///
/// A scannable advertisement is held back until its response arrives, until the same device advertises again, or until
/// the second ``flush()``. The number held is bounded, however many devices there are. A device may send several
/// advertising sets at a time with one address, and a controller may report another one between two fragments.
struct HCIReportMerger {
    /// The largest number of devices whose advertisements are held at a time.
    static let maximumHeld = 64
    /// The largest size of an advertisement in all its fragments, in octets (Vol 6, Part B, 2.3.4.9).
    static let maximumData = 1650

    private struct Held {
        var report: AdvertisingReport
        let set: UInt8?
        let isScannable: Bool
        var isIncomplete: Bool
        /// Whether events were lost amid its fragments, and a part of it may be among them.
        var mayLackPart = false
        var wasFlushed = false
    }

    private var held: [Held] = []

    /// Whether any advertisement waits for its missing parts.
    var isHolding: Bool { !held.isEmpty }

    /// Whether one of this device does.
    func holds(_ address: BluetoothAddress) -> Bool { held.contains { $0.report.address == address } }

    /// Takes an advertisement; returns the reports that are complete now, in order.
    ///
    /// - Parameter isActive: whether scan responses are requested.
    mutating func add(_ advertisement: HCIAdvertisement, isActive: Bool, time: ReceptionTime) -> [AdvertisingReport] {
        let place = place(of: advertisement)
        if let place, held[place].isIncomplete || advertisement.isScanResponse {
            return join(advertisement, place)
        }
        var done: [AdvertisingReport] = []
        if let place { done.append(held.remove(at: place).report) }
        let report = AdvertisingReport(
            address: advertisement.address,
            rssi: advertisement.rssi,
            isConnectable: advertisement.isConnectable,
            data: AdvertisingData(bytes: Array(advertisement.data)),
            time: time
        )
        let isAwaitingResponse = isActive && advertisement.isScannable && !advertisement.isScanResponse
        if advertisement.isIncomplete || isAwaitingResponse {
            if held.count == Self.maximumHeld {
                let oldest = held.removeFirst()
                if !oldest.mayLackPart { done.append(oldest.report) }
            }
            held.append(
                Held(
                    report: report,
                    set: advertisement.set,
                    isScannable: advertisement.isScannable,
                    isIncomplete: advertisement.isIncomplete
                )
            )
        } else {
            done.append(report)
        }
        return done
    }

    /// Returns the advertisements that were already held at the last flush: their responses have not come since.
    mutating func flush() -> [AdvertisingReport] {
        let late = held.filter { $0.wasFlushed && !$0.mayLackPart }.map(\.report)
        held.removeAll(where: \.wasFlushed)
        for place in held.indices { held[place].wasFlushed = true }
        return late
    }

    /// Some of the controller's events were lost. An advertisement of which a part may be missing isn't reported, and
    /// its end isn't taken for another one.
    mutating func missedEvents() {
        for place in held.indices where held[place].isIncomplete { held[place].mayLackPart = true }
    }

    /// What is held of the same device and set.
    private func place(of advertisement: HCIAdvertisement) -> Int? {
        let place = held.firstIndex {
            $0.report.address == advertisement.address && $0.set == advertisement.set
        }
        guard place == nil, advertisement.isScanResponse, advertisement.set == nil else { return place }
        // A response needn't tell its set.
        return held.firstIndex { $0.report.address == advertisement.address && $0.isScannable }
    }

    private mutating func join(_ advertisement: HCIAdvertisement, _ place: Int) -> [AdvertisingReport] {
        if held[place].mayLackPart {
            if !advertisement.isIncomplete { held.remove(at: place) }
            return []
        }
        let (data, rest) = (held[place].report.data, advertisement.data)
        let bytes = held[place].isIncomplete ? data.bytes + rest : data.followed(by: rest).bytes
        held[place].report.data = AdvertisingData(bytes: Array(bytes.prefix(Self.maximumData)))
        held[place].report.rssi = advertisement.rssi ?? held[place].report.rssi
        held[place].isIncomplete = advertisement.isIncomplete
        if advertisement.isIncomplete, bytes.count < Self.maximumData { return [] }
        return [held.remove(at: place).report]
    }
}
