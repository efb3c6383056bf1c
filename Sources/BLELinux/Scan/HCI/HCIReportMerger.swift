internal import BLEProtocol
internal import BLERadio

/// Makes one report of an advertisement and its scan response, and of the fragments of a long one.
///
/// A scannable advertisement is held back until its response has come, until the same device advertises again, or
/// until the second ``flush()``. What is held is bounded, whatever devices there are.
struct HCIReportMerger {
    /// Devices whose advertisements are held at a time.
    static let maximumHeld = 64
    /// Octets that an advertisement may have in all its fragments (Vol 6, Part B, 2.3.4.9).
    static let maximumData = 1650

    private struct Held {
        var report: AdvertisingReport
        var isIncomplete: Bool
        var wasFlushed = false
    }

    private var held: [Held] = []

    /// Whether anything waits for what belongs to it.
    var isHolding: Bool { !held.isEmpty }

    /// Takes an advertisement; returns what is complete now, in order.
    ///
    /// - Parameter isActive: Whether scan responses are asked for.
    mutating func add(_ advertisement: HCIAdvertisement, isActive: Bool, time: ReceptionTime) -> [AdvertisingReport] {
        let place = held.firstIndex { $0.report.address == advertisement.address }
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
            if held.count == Self.maximumHeld { done.append(held.removeFirst().report) }
            held.append(Held(report: report, isIncomplete: advertisement.isIncomplete))
        } else {
            done.append(report)
        }
        return done
    }

    /// Gives out what was held at the last flush as well: its response hasn't come in all the time between.
    mutating func flush() -> [AdvertisingReport] {
        let late = held.filter(\.wasFlushed).map(\.report)
        held.removeAll(where: \.wasFlushed)
        for place in held.indices { held[place].wasFlushed = true }
        return late
    }

    private mutating func join(_ advertisement: HCIAdvertisement, _ place: Int) -> [AdvertisingReport] {
        let bytes = held[place].report.data.bytes + advertisement.data
        held[place].report.data = AdvertisingData(bytes: Array(bytes.prefix(Self.maximumData)))
        held[place].report.rssi = advertisement.rssi ?? held[place].report.rssi
        held[place].isIncomplete = advertisement.isIncomplete
        if advertisement.isIncomplete, bytes.count < Self.maximumData { return [] }
        return [held.remove(at: place).report]
    }
}
