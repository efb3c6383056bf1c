import BLEDevices
import BLEProtocol

@testable import BLEStreams

extension FuzzTarget {
    /// The values of characteristics and descriptors that have a type, and the texts of addresses and UUIDs.
    static let values = FuzzTarget("values", longest: 128, seeds: valueSeeds) { octets in
        var input = FuzzInput(octets)
        let (kind, rest) = (input.number(below: 4), input.rest())
        switch kind {
        case 0:
            let value = CharacteristicValue(
                bytes: rest[...],
                time: ReceptionTime(sinceEpoch: .zero, source: .kernel),
                isIndication: false
            )
            if let beat = try? TypedCharacteristic.heartRateMeasurement.value(of: value) {
                try require(beat.intervals.count * 2 <= rest.count, "more intervals than octets")
            }
            if let level = try? TypedCharacteristic.batteryLevel.value(of: value) {
                let written = try TypedCharacteristic.batteryLevel.octets(of: level)
                try require(rest.starts(with: written), "a level is written otherwise than it came")
            }
            if let status = PlainUpdateStatus(rest) {
                _ = status.failure.description
                try require(status.encoded == rest, "a status is written otherwise than it came")
            }
        case 1:
            for uuid in 0x2900...0x290E as ClosedRange<UInt16> {
                _ = "\(Descriptor.Value(BluetoothUUID(uuid), octets: rest))"
            }
            if let format = Descriptor.PresentationFormat(octets: rest.prefix(7)) {
                try require(rest.starts(with: format.octets), "a format is written otherwise than it came")
                _ = (format.format.description, format.number(in: rest.dropFirst(7)))
            }
            if let key = SecretKey(octets: rest) { try require(key.octets == rest, "a key is kept otherwise") }
            if let uuid = BluetoothUUID(littleEndian: rest) {
                try require(BluetoothUUID(littleEndian: uuid.shortestOctets) == uuid, "\(uuid) is sent as another UUID")
            }
        case 2:
            let text = String(decoding: rest, as: UTF8.self)
            try require(BluetoothAddress.candidates(for: text).count <= 2, "an address with three meanings")
            if let read = BluetoothAddress(text) {
                try require(BluetoothAddress(read.descriptionWithKind) == read, "\(read) is read as another address")
            }
        default:
            if let read = BluetoothUUID(String(decoding: rest, as: UTF8.self)) {
                try require(BluetoothUUID(read.description) == read, "\(read) is read as another UUID")
            }
        }
    }

    private static let valueSeeds: [[UInt8]] = {
        let texts = [
            (2, "C4:F2:17:1A:1D:BB/random"), (2, "C4:F2:17:1A:1D:BB"), (3, "0000180D-0000-1000-8000-00805F9B34FB"),
            (3, "180D"), (3, "0x180D"), (3, "0000180D"),
        ]
        return [
            [0, 0x1F, 60, 0, 9, 0, 0, 4, 0, 4], [0, 0, 60], [0, 3, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0],
            [1, 4, 0xFE, 0x2F, 0x27, 1, 0, 0], [1, 3, 0], [1, 0x61, 0xC3, 0xBC],
        ] + texts.map { [UInt8($0.0)] + Array($0.1.utf8) }
    }()
}
