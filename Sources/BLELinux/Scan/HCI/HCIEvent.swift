internal import BLEProtocol

/// The content of an HCI event packet, as far as a scan needs it.
///
/// Source: Core Specification, Vol 4, Part E, 7.7.
enum HCIEvent: Equatable {
    /// A command is over: its opcode, its status and what it returned (Command Complete, and Command Status where it
    /// failed).
    case commandEnded(opcode: UInt16, status: UInt8, returned: ArraySlice<UInt8>)
    /// A command is under way, and another event will report its end (Command Status).
    case commandStarted(opcode: UInt16)
    /// An attempt to connect is over, successfully or not (LE Connection Complete and its enhanced forms).
    case connectionAttemptEnded
    /// Advertisements, in order (LE Advertising Report, LE Extended Advertising Report).
    case advertisements([HCIAdvertisement])

    private static let packetType: UInt8 = 0x04
    private static let commandComplete: UInt8 = 0x0E
    private static let commandStatus: UInt8 = 0x0F
    private static let lowEnergyMeta: UInt8 = 0x3E
    private static let advertisingReport: UInt8 = 0x02
    private static let extendedAdvertisingReport: UInt8 = 0x0D

    /// Decodes a packet of a raw HCI socket; `nil` for one that a scan doesn't need, and for an invalid one.
    init?(decoding packet: [UInt8]) {
        var reader = ByteReader(packet)
        guard reader.uint8() == Self.packetType, let code = reader.uint8(), let length = reader.uint8(),
            let parameters = reader.bytes(Int(length))
        else { return nil }
        reader = ByteReader(parameters)
        switch code {
        case Self.commandComplete:
            guard reader.uint8() != nil, let opcode = reader.uint16(), let status = reader.uint8() else { return nil }
            self = .commandEnded(opcode: opcode, status: status, returned: reader.rest())
        case Self.commandStatus:
            guard let status = reader.uint8(), reader.uint8() != nil, let opcode = reader.uint16() else { return nil }
            self =
                status == 0
                ? .commandStarted(opcode: opcode)
                : .commandEnded(opcode: opcode, status: status, returned: [])
        case Self.lowEnergyMeta:
            guard let subevent = reader.uint8() else { return nil }
            if HCILinkEvent.connectionSubevents.contains(subevent) {
                self = .connectionAttemptEnded
            } else {
                let advertisements = Self.advertisements(subevent, &reader)
                if advertisements.isEmpty { return nil }
                self = .advertisements(advertisements)
            }
        default:
            return nil
        }
    }

    /// The complete reports of an event: one that is cut off is lost, the ones before it are not. Those without an
    /// address are left out, as the kernel leaves them out: nobody could connect to one, or tell two of them apart.
    private static func advertisements(_ subevent: UInt8, _ reader: inout ByteReader) -> [HCIAdvertisement] {
        var advertisements: [HCIAdvertisement] = []
        for _ in 0..<(reader.uint8() ?? 0) {
            let advertisement: HCIAdvertisement? =
                switch subevent {
                case advertisingReport: HCIAdvertisement(legacy: &reader)
                case extendedAdvertisingReport: HCIAdvertisement(extended: &reader)
                default: nil
                }
            guard let advertisement else { break }
            if !advertisement.isAnonymous { advertisements.append(advertisement) }
        }
        return advertisements
    }
}

/// One advertisement or scan response, as a controller reports it.
struct HCIAdvertisement: Equatable {
    var address: BluetoothAddress
    /// In dBm; `nil` if the controller doesn't know.
    var rssi: Int8?
    var isConnectable = false
    /// Whether a scan response may follow.
    var isScannable = false
    /// Whether the data is a scan response to an earlier advertisement.
    var isScanResponse = false
    /// Whether it doesn't tell whose it is: then the address has no meaning.
    var isAnonymous = false
    /// Whether more of the data follows in another report.
    var isIncomplete = false
    /// The advertising set; `nil` for a legacy packet, and for a scan response that doesn't tell it.
    var set: UInt8?
    var data: ArraySlice<UInt8>

    /// One report of LE Advertising Report (Vol 4, Part E, 7.7.65.2).
    init?(legacy reader: inout ByteReader) {
        guard let type = reader.uint8(), let kind = reader.uint8(), let address = reader.deviceAddress(ofType: kind),
            let length = reader.uint8(), let data = reader.bytes(Int(length)), let rssi = reader.uint8()
        else { return nil }
        self.address = address
        self.data = data
        self.rssi = Self.strength(rssi)
        // A scan response alone doesn't say; devices that answer scans are mostly connectable.
        isConnectable = type == 0x00 || type == 0x01 || type == 0x04
        isScannable = type == 0x00 || type == 0x02
        isScanResponse = type == 0x04
    }

    /// One report of LE Extended Advertising Report (Vol 4, Part E, 7.7.65.13).
    init?(extended reader: inout ByteReader) {
        // PHYs, set and power follow the address; the interval and the target of directed advertising follow the
        // strength.
        guard let type = reader.uint16(), let kind = reader.uint8(), let address = reader.deviceAddress(ofType: kind),
            reader.bytes(2) != nil, let set = reader.uint8(), reader.uint8() != nil, let rssi = reader.uint8(),
            reader.bytes(9) != nil, let length = reader.uint8(), let data = reader.bytes(Int(length))
        else { return nil }
        self.address = address
        isAnonymous = kind == 0xFF
        self.data = data
        self.rssi = Self.strength(rssi)
        isConnectable = type & 0x01 != 0
        isScannable = type & 0x02 != 0
        isScanResponse = type & 0x08 != 0
        isIncomplete = type >> 5 & 0x03 == 0x01
        self.set = set <= 0x0F ? set : nil
    }

    private static func strength(_ octet: UInt8) -> Int8? { octet == 127 ? nil : Int8(bitPattern: octet) }
}

extension ByteReader {
    /// An address's six octets; the identity addresses that a controller resolves (types 2 and 3) count as public and
    /// random.
    fileprivate mutating func deviceAddress(ofType type: UInt8) -> BluetoothAddress? {
        guard let octets = bytes(6) else { return nil }
        return BluetoothAddress(littleEndian: octets, kind: type & 1 == 0 ? .public : .random)
    }
}
