/// Reads a btsnoop file: this library's, btmon's, or that of Android's "HCI snoop log".
///
/// The file is not trusted: what is cut off or malformed is left out and counted, and nothing in it makes the reader
/// trap or take more than its share of memory.
///
/// Source: BlueZ, doc/btsnoop-protocol.rst; Core Specification, Vol 4, Part E, 5.4 and 7.7, Vol 3, Part A, 3.1.
package struct CaptureReader {
    private struct LinkKey: Hashable {
        let index: UInt16
        let handle: UInt16
    }

    /// A device, as one of several adapters hears it.
    private struct HeardKey: Hashable {
        let index: UInt16
        let address: BluetoothAddress
    }

    private struct Heard {
        /// Its position among the advertisements.
        let place: Int
        var hasResponse = false
    }

    private struct OpenLink {
        /// Its position among the links; `nil` if nothing of it is kept.
        var place: Int?
        var isCentral: Bool
        var sent = L2CAPAssembler()
        var received = L2CAPAssembler()
    }

    private var traffic = CapturedTraffic()
    private var pduCount = 0
    private var open: [LinkKey: OpenLink] = [:]
    private var adapters: [UInt16: BluetoothAddress] = [:]
    /// The parts of long advertisements, by the adapter that heard them.
    private var reports: [UInt16: HCIReportAssembler] = [:]
    /// Each device's last advertisement, to which a scan response belongs.
    private var lastHeard: [HeardKey: Heard] = [:]

    private static let attributeChannel: UInt16 = 0x0004
    /// The time within which a scan response follows its advertisement.
    private static let responseTime = Duration.milliseconds(100)

    private init() {}

    /// The content of a file; `nil` if the octets are not a btsnoop file, or one whose packets are not HCI packets.
    package static func traffic(in octets: [UInt8]) -> CapturedTraffic? {
        var reader = ByteReader(octets)
        guard let header = BTSnoopHeader(decoding: &reader) else { return nil }
        let known: [BTSnoopDatalink] = [.hci, .hciUART, .linuxMonitor]
        guard known.contains(header.datalink) else { return nil }
        var (capture, clock) = (CaptureReader(), RecordedClock())
        while !reader.isAtEnd {
            guard let record = BTSnoopRecord(decoding: &reader) else {
                // The file ends within a record.
                capture.traffic.leftOut += 1
                break
            }
            let time = clock.time(record.time)
            if let packet = HCIPacket(record, header.datalink, at: time) { capture.take(packet) }
        }
        // They may be out of order, or the clock may have been corrected meanwhile.
        capture.traffic.advertisements.sort { $0.time < $1.time }
        return capture.traffic
    }

    private mutating func take(_ packet: HCIPacket) {
        switch packet.opcode {
        case .newIndex: noteAdapter(packet, skipping: 2)
        case .indexInformation: noteAdapter(packet, skipping: 0)
        case .event: event(packet)
        case .dataSent: data(packet, isSent: true)
        case .dataReceived: data(packet, isSent: false)
        default: break
        }
    }

    private mutating func noteAdapter(_ packet: HCIPacket, skipping count: Int) {
        var reader = ByteReader(packet.data)
        guard reader.bytes(count) != nil, let octets = reader.bytes(6), octets.contains(where: { $0 != 0 }) else {
            return
        }
        adapters[packet.index] = BluetoothAddress(littleEndian: octets, kind: .public)
    }

    // MARK: - Events

    private mutating func event(_ packet: HCIPacket) {
        var reader = ByteReader(packet.data)
        guard let code = reader.uint8(), let length = reader.uint8(), let parameters = reader.bytes(Int(length)) else {
            traffic.leftOut += 1
            return
        }
        reader = ByteReader(parameters)
        switch code {
        case 0x3E: lowEnergy(&reader, packet)
        case 0x05:
            guard reader.uint8() == 0, let handle = reader.uint16() else { return }
            open[LinkKey(index: packet.index, handle: handle & 0xFFF)] = nil
        // Command Complete of Read BD_ADDR.
        case 0x0E:
            guard reader.uint8() != nil, reader.uint16() == 0x1009, reader.uint8() == 0, let octets = reader.bytes(6)
            else {
                return
            }
            adapters[packet.index] = BluetoothAddress(littleEndian: octets, kind: .public)
        default: break
        }
    }

    private mutating func lowEnergy(_ reader: inout ByteReader, _ packet: HCIPacket) {
        switch reader.uint8() {
        case 0x01, 0x0A, 0x29: connected(&reader, packet)
        case 0x02, 0x0D:
            for report in HCIAdvertisingReport.reports(in: [0x04] + packet.data) {
                let whole = reports[packet.index, default: HCIReportAssembler()].add(report)
                if let whole { advertised(whole, packet) }
            }
        default: break
        }
    }

    private mutating func connected(_ reader: inout ByteReader, _ packet: HCIPacket) {
        guard reader.uint8() == 0, let handle = reader.uint16(), let role = reader.uint8(), let kind = reader.uint8(),
            let octets = reader.bytes(6),
            let peer = BluetoothAddress(littleEndian: octets, kind: kind & 1 == 0 ? .public : .random)
        else { return }
        let isCentral = role == 0
        let key = LinkKey(index: packet.index, handle: handle & 0xFFF)
        guard open[key] != nil || open.count < CapturedTraffic.Limits.openLinks else {
            traffic.leftOut += 1
            return
        }
        var place: Int?
        if let peripheral = isCentral ? peer : adapters[packet.index] {
            if traffic.links.count < CapturedTraffic.Limits.links {
                place = traffic.links.count
                traffic.links.append(CapturedTraffic.Link(peripheral: peripheral, begin: packet.time))
            } else {
                traffic.leftOut += 1
            }
        }
        open[key] = OpenLink(place: place, isCentral: isCentral)
    }

    private mutating func advertised(_ report: HCIAdvertisingReport, _ packet: HCIPacket) {
        guard let address = report.address else { return }
        let (key, time) = (HeardKey(index: packet.index, address: address), packet.time)
        let isResponse = report.kind.contains(.scanResponse)
        let last = lastHeard[key]
        if isResponse, let last, !last.hasResponse,
            time - traffic.advertisements[last.place].time <= Self.responseTime
        {
            lastHeard[key]?.hasResponse = true
            let data = AdvertisingData(bytes: traffic.advertisements[last.place].data)
            traffic.advertisements[last.place].data = data.followed(by: report.data.bytes).bytes
            return
        }
        guard traffic.advertisements.count < CapturedTraffic.Limits.advertisements else {
            traffic.leftOut += 1
            return
        }
        var isConnectable = report.kind.contains(.connectable)
        if !isResponse {
            lastHeard[key] = Heard(place: traffic.advertisements.count)
        } else if report.kind.contains(.legacy), !isConnectable {
            // It needn't say; devices that answer scans are mostly connectable.
            isConnectable = last.map { traffic.advertisements[$0.place].isConnectable } ?? true
        }
        traffic.advertisements.append(
            CapturedTraffic.Advertisement(
                time: time,
                address: address,
                isConnectable: isConnectable,
                rssi: report.rssi,
                data: report.data.bytes,
                isResponseAlone: isResponse
            )
        )
    }

    // MARK: - Data

    private mutating func data(_ packet: HCIPacket, isSent: Bool) {
        var reader = ByteReader(packet.data)
        guard let head = reader.uint16(), let length = reader.uint16(), let payload = reader.bytes(Int(length)) else {
            traffic.leftOut += 1
            return
        }
        let key = LinkKey(index: packet.index, handle: head & 0xFFF)
        // A link whose beginning isn't in the file may be of any kind, and its device is unknown.
        guard let place = open[key]?.place, let isCentral = open[key]?.isCentral else { return }
        let isContinued = head >> 12 & 3 == 1
        let frame =
            isSent
            ? open[key]?.sent.add(payload, isContinued: isContinued)
            : open[key]?.received.add(payload, isContinued: isContinued)
        guard let frame, frame.channel == Self.attributeChannel, !frame.payload.isEmpty else { return }
        guard pduCount < CapturedTraffic.Limits.pdus else {
            traffic.leftOut += 1
            return
        }
        pduCount += 1
        traffic.links[place].pdus.append(
            CapturedTraffic.PDU(time: packet.time, isFromPeripheral: isSent != isCentral, octets: frame.payload)
        )
    }
}

/// Joins L2CAP frames that came in several HCI packets.
struct L2CAPAssembler {
    private var pending: [UInt8] = []
    private var missing = 0

    /// Takes the payload of a packet. Returns a whole frame if the payload completes one.
    mutating func add(_ payload: ArraySlice<UInt8>, isContinued: Bool) -> (channel: UInt16, payload: [UInt8])? {
        if isContinued {
            guard missing > 0 else { return nil }
            pending += payload.prefix(missing)
            missing -= min(missing, payload.count)
        } else {
            var reader = ByteReader(payload)
            guard let length = reader.uint16() else { return nil }
            pending = Array(payload.prefix(Int(length) + 4))
            missing = Int(length) + 4 - pending.count
        }
        guard missing == 0 else { return nil }
        defer { pending = [] }
        var reader = ByteReader(pending)
        guard reader.uint16() != nil, let channel = reader.uint16() else { return nil }
        return (channel, Array(reader.rest()))
    }
}

/// A packet of a btsnoop file, independent of its datalink.
private struct HCIPacket {
    let opcode: MonitorOpcode
    let index: UInt16
    let time: Duration
    let data: [UInt8]

    init?(_ record: BTSnoopRecord, _ datalink: BTSnoopDatalink, at time: Duration) {
        self.time = time
        let isReceived = record.flags & 1 != 0
        switch datalink {
        case .linuxMonitor:
            (opcode, index, data) = (record.opcode, record.index, Array(record.data))
        case .hciUART:
            index = 0
            data = Array(record.data.dropFirst())
            switch record.data.first {
            case 0x01: opcode = .command
            case 0x02: opcode = isReceived ? .dataReceived : .dataSent
            case 0x04: opcode = .event
            default: return nil
            }
        default:
            index = 0
            data = Array(record.data)
            switch record.flags & 3 {
            case 0: opcode = .dataSent
            case 1: opcode = .dataReceived
            case 2: opcode = .command
            default: opcode = .event
            }
        }
    }
}
