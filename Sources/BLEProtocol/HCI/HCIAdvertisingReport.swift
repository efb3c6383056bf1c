/// One advertisement, as a controller reports it to its host.
///
/// Source: Core Specification, Vol 4, Part E, 7.7.65.2 (legacy) and 7.7.65.13 (extended).
package struct HCIAdvertisingReport: Hashable, Sendable {
    /// The kind of packet on air; unknown bits are kept.
    package struct Kind: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let connectable = Kind(rawValue: 1 << 0)
        package static let scannable = Kind(rawValue: 1 << 1)
        package static let directed = Kind(rawValue: 1 << 2)
        package static let scanResponse = Kind(rawValue: 1 << 3)
        /// A packet of Bluetooth 4, even if it is reported in the extended form.
        package static let legacy = Kind(rawValue: 1 << 4)
    }

    /// Whether the data is complete.
    package enum DataStatus: UInt8, Hashable, Sendable {
        case complete = 0
        /// A further report continues the data; see ``HCIReportAssembler``.
        case moreToCome = 1
        /// The controller did not receive the rest.
        case truncated = 2
        case reserved = 3
    }

    /// The advertiser's address: its identity address if the controller resolved a private one; `nil` for an anonymous
    /// advertisement.
    package var address: BluetoothAddress?

    package var kind: Kind
    package var dataStatus: DataStatus

    /// The received signal strength in dBm; `nil` if the controller doesn't know it.
    package var rssi: Int8?

    /// The advertising set, 0 to 15; `nil` for a legacy packet.
    package var set: UInt8?

    package var data: AdvertisingData
}

extension HCIAdvertisingReport {
    private static let leMeta: UInt8 = 0x3E
    private static let advertisingReport: UInt8 = 0x02
    private static let extendedAdvertisingReport: UInt8 = 0x0D

    /// The reports in a packet that was read from a raw HCI socket, event indicator 0x04 first.
    ///
    /// Empty for every other packet. If a report is longer than the rest of the packet, the ones before it count.
    package static func reports(in packet: [UInt8]) -> [HCIAdvertisingReport] {
        var reader = ByteReader(packet)
        guard reader.uint8() == 0x04, reader.uint8() == leMeta, let length = reader.uint8(),
            let parameters = reader.bytes(Int(length))
        else { return [] }
        reader = ByteReader(parameters)
        let subevent = reader.uint8()
        guard subevent == advertisingReport || subevent == extendedAdvertisingReport, let count = reader.uint8() else {
            return []
        }
        var reports: [HCIAdvertisingReport] = []
        for _ in 0..<count {
            let report =
                subevent == advertisingReport
                ? HCIAdvertisingReport(legacy: &reader) : HCIAdvertisingReport(extended: &reader)
            guard let report else { break }
            reports.append(report)
        }
        return reports
    }

    /// Event type, address type, address, data with its length, strength.
    private init?(legacy reader: inout ByteReader) {
        guard let type = reader.uint8(), let addressType = reader.uint8(), let octets = reader.bytes(6),
            let length = reader.uint8(), let data = reader.bytes(Int(length)), let rssi = reader.uint8()
        else { return nil }
        switch type {
        case 0: kind = [.legacy, .connectable, .scannable]
        case 1: kind = [.legacy, .connectable, .directed]
        case 2: kind = [.legacy, .scannable]
        case 3: kind = [.legacy]
        case 4: kind = [.legacy, .scannable, .scanResponse]
        default: return nil
        }
        address = Self.address(addressType, octets)
        dataStatus = .complete
        self.rssi = Self.decibels(rssi)
        set = nil
        self.data = AdvertisingData(bytes: Array(data))
    }

    /// Event type, address type, address, PHYs, set, power, strength, interval, the address that a directed
    /// advertisement is meant for, data with its length.
    private init?(extended reader: inout ByteReader) {
        guard let type = reader.uint16(), let addressType = reader.uint8(), let octets = reader.bytes(6),
            reader.bytes(2) != nil, let set = reader.uint8(), reader.uint8() != nil, let rssi = reader.uint8(),
            reader.bytes(2 + 7) != nil, let length = reader.uint8(), let data = reader.bytes(Int(length))
        else { return nil }
        kind = Kind(rawValue: type & ~0x60)
        address = Self.address(addressType, octets)
        dataStatus = DataStatus(rawValue: UInt8(truncatingIfNeeded: type >> 5 & 3)) ?? .reserved
        self.rssi = Self.decibels(rssi)
        self.set = set <= 0x0F ? set : nil
        self.data = AdvertisingData(bytes: Array(data))
    }

    /// 0 and 2 public, 1 and 3 random, as sent and as resolved; 0xFF anonymous.
    private static func address(_ type: UInt8, _ octets: ArraySlice<UInt8>) -> BluetoothAddress? {
        switch type {
        case 0, 2: BluetoothAddress(littleEndian: octets, kind: .public)
        case 1, 3: BluetoothAddress(littleEndian: octets, kind: .random)
        default: nil
        }
    }

    /// 127 means "not known".
    private static func decibels(_ octet: UInt8) -> Int8? { octet == 127 ? nil : Int8(bitPattern: octet) }
}
