/// What an HCI packet reports about a link: its request, its beginning, its current conditions, its end.
///
/// Source: Core Specification, Vol 4, Part E, 7.7.5, 7.7.65, 7.8.12 and 7.8.66.
package enum HCILinkEvent: Hashable, Sendable {
    /// The timing of a link.
    package struct Times: Hashable, Sendable {
        package var interval: Duration
        package var latency: Int
        package var supervisionTimeout: Duration

        init?(_ reader: inout ByteReader) {
            guard let interval = reader.uint16(), let latency = reader.uint16(), let timeout = reader.uint16() else {
                return nil
            }
            self.interval = .microseconds(1250 * Int(interval))
            self.latency = Int(latency)
            supervisionTimeout = .milliseconds(10 * Int(timeout))
        }
    }

    /// The host requests a link to a device that advertises as in Bluetooth 4 or, if extended, as in Bluetooth 5 too.
    case connecting(isExtended: Bool)
    /// A link is up.
    case connected(handle: UInt16, Times, isCentral: Bool)
    /// The timing of a link has changed.
    case timesChanged(handle: UInt16, Times)
    /// What the other side of a link supports: whether it has a PHY other than 1M.
    case peerFeatures(handle: UInt16, hasOtherPHYs: Bool)
    /// The PHYs of a link have changed.
    case modulationChanged(handle: UInt16, sending: LinkConditions.PHY?, receiving: LinkConditions.PHY?)
    /// The longest packets of a link have changed.
    case dataLengthChanged(handle: UInt16, sending: Int, receiving: Int)
    /// A link has ended.
    case disconnected(handle: UInt16)

    private static let commandPacket: UInt8 = 0x01
    private static let createConnection: UInt16 = 0x200D
    private static let extendedCreateConnections: [UInt16] = [0x2043, 0x2085]
    /// LE Create Connection, and LE Extended Create Connection in both versions.
    package static let connectionCommands: [UInt16] = [createConnection] + extendedCreateConnections
    private static let eventPacket: UInt8 = 0x04
    private static let disconnectionComplete: UInt8 = 0x05
    private static let lowEnergyMeta: UInt8 = 0x3E
    /// LE Connection Complete and its enhanced forms.
    package static let connectionSubevents: [UInt8] = [0x01, 0x0A, 0x29]

    /// Decodes a packet of a raw HCI socket; `nil` for packets that don't concern a link, for failures, and for
    /// truncated ones.
    package init?(decoding packet: [UInt8]) {
        var reader = ByteReader(packet)
        if packet.first == Self.commandPacket {
            guard let command = Self.command(&reader) else { return nil }
            self = command
            return
        }
        guard reader.uint8() == Self.eventPacket, let code = reader.uint8(), let length = reader.uint8(),
            let parameters = reader.bytes(Int(length))
        else { return nil }
        reader = ByteReader(parameters)
        let event: HCILinkEvent? =
            switch code {
            case Self.disconnectionComplete: Self.disconnection(&reader)
            case Self.lowEnergyMeta: reader.uint8().flatMap { Self.lowEnergy($0, &reader) }
            default: nil
            }
        guard let event else { return nil }
        self = event
    }

    /// Whether a packet reports that no link came of an attempt, which has failed or was cancelled.
    package static func endsAttempt(_ packet: [UInt8]) -> Bool {
        packet.count > 4 && packet[0] == eventPacket && packet[1] == lowEnergyMeta
            && connectionSubevents.contains(packet[3]) && packet[4] != 0
    }

    private static func command(_ reader: inout ByteReader) -> HCILinkEvent? {
        guard reader.uint8() != nil, let opcode = reader.uint16() else { return nil }
        switch opcode {
        case createConnection: return .connecting(isExtended: false)
        case _ where extendedCreateConnections.contains(opcode): return .connecting(isExtended: true)
        default: return nil
        }
    }

    private static func disconnection(_ reader: inout ByteReader) -> HCILinkEvent? {
        handle(&reader).map { .disconnected(handle: $0) }
    }

    private static func lowEnergy(_ subevent: UInt8, _ reader: inout ByteReader) -> HCILinkEvent? {
        switch subevent {
        // After the role come the address type and the address; in the enhanced forms, also two resolvable addresses.
        case 0x01: connection(skipping: 7, &reader)
        case 0x0A, 0x29: connection(skipping: 19, &reader)
        case 0x03:
            if let handle = handle(&reader), let times = Times(&reader) {
                .timesChanged(handle: handle, times)
            } else {
                nil
            }
        case 0x04: features(&reader)
        case 0x07: dataLength(&reader)
        case 0x0C:
            if let handle = handle(&reader), let sending = reader.uint8(), let receiving = reader.uint8() {
                .modulationChanged(handle: handle, sending: .init(sending), receiving: .init(receiving))
            } else {
                nil
            }
        default: nil
        }
    }

    private static func connection(skipping count: Int, _ reader: inout ByteReader) -> HCILinkEvent? {
        guard let handle = handle(&reader), let role = reader.uint8(), reader.bytes(count) != nil,
            let times = Times(&reader)
        else { return nil }
        return .connected(handle: handle, times, isCentral: role == 0)
    }

    /// The bits of 2M and Coded in the second octet (Core Specification, Vol 6, Part B, 4.6).
    private static let otherPHYs: UInt8 = 1 << 0 | 1 << 3

    private static func features(_ reader: inout ByteReader) -> HCILinkEvent? {
        guard let handle = handle(&reader), let features = reader.bytes(8) else { return nil }
        return .peerFeatures(handle: handle, hasOtherPHYs: features[features.startIndex + 1] & otherPHYs != 0)
    }

    private static func dataLength(_ reader: inout ByteReader) -> HCILinkEvent? {
        guard let handle = reader.uint16(), let sending = reader.uint16(), reader.uint16() != nil,
            let receiving = reader.uint16()
        else { return nil }
        return .dataLengthChanged(handle: handle & 0xFFF, sending: Int(sending), receiving: Int(receiving))
    }

    /// The handle after a status of success.
    private static func handle(_ reader: inout ByteReader) -> UInt16? {
        guard reader.uint8() == 0, let handle = reader.uint16() else { return nil }
        return handle & 0xFFF
    }
}

extension LinkConditions.PHY {
    /// A PHY by its number in HCI events; `nil` for an unknown number.
    init?(_ number: UInt8) {
        switch number {
        case 1: self = .le1M
        case 2: self = .le2M
        case 3: self = .leCoded
        default: return nil
        }
    }
}
