/// Joins the data of an extended advertisement that the controller reports in pieces.
///
/// Pieces belong together by address and advertising set. An advertisement that is never finished is forgotten when too
/// many others have begun, so that no advertiser can make the memory grow.
package struct HCIReportAssembler {
    private struct Key: Hashable {
        let address: BluetoothAddress?
        let set: UInt8?
        let isScanResponse: Bool
    }

    private struct Piece {
        let key: Key
        var data: [UInt8]
    }

    /// Oldest first.
    private var pieces: [Piece] = []

    /// The most data that an advertisement can have (Core Specification, Vol 4, Part E, 7.8.57).
    private static let maximumData = 1650
    private static let maximumPieces = 32

    package init() {}

    /// Takes a report; returns whole advertisements with all of their data, and truncated ones with the data received.
    package mutating func add(_ report: HCIAdvertisingReport) -> HCIAdvertisingReport? {
        let key = Key(address: report.address, set: report.set, isScanResponse: report.kind.contains(.scanResponse))
        guard let place = pieces.firstIndex(where: { $0.key == key }) else {
            guard report.dataStatus == .moreToCome else { return report }
            if pieces.count == Self.maximumPieces { pieces.removeFirst() }
            pieces.append(Piece(key: key, data: report.data.bytes))
            return nil
        }
        var piece = pieces.remove(at: place)
        piece.data += report.data.bytes
        if piece.data.count > Self.maximumData { return nil }
        if report.dataStatus == .moreToCome {
            pieces.append(piece)
            return nil
        }
        var whole = report
        whole.data = AdvertisingData(bytes: piece.data)
        return whole
    }
}
