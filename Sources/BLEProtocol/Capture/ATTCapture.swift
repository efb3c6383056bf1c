/// Makes a btsnoop file, which btmon and Wireshark dissect, of the ATT PDUs on some links and of advertisements.
///
/// A socket delivers only ATT PDUs. Each is wrapped in the L2CAP and HCI headers that it had on its way through the
/// controller; the connection handles are synthetic, and so are the events that begin and end a link or report an
/// advertisement. A note at the beginning of the file says so.
///
/// A value without I/O: every function returns the octets to append to the file.
package struct ATTCapture: Sendable {
    /// A link within the capture, by its synthetic connection handle.
    package struct LinkID: Hashable, Sendable {
        package let handle: UInt16

        /// Makes a link from its handle in the file.
        package init(handle: UInt16) { self.handle = handle }
    }

    /// This adapter's role on the link (Core Specification, Vol 4, Part E, 7.7.65.1).
    package enum Role: UInt8, Hashable, Sendable {
        case central = 0
        case peripheral = 1
    }

    private let index: UInt16
    private var handles: Set<UInt16> = []
    private var nextHandle: UInt16 = 0

    /// The largest connection handle (Core Specification, Vol 4, Part E, 5.4.2).
    private static let maximumHandle: UInt16 = 0x0EFF
    private static let attributeChannel: UInt16 = 0x0004

    /// - Parameter index: The adapter's number: 0 for hci0.
    package init(index: UInt16) { self.index = index }

    /// The beginning of the file: its header, a note and the adapter.
    ///
    /// - Parameter name: The adapter's name, cut after seven octets and followed by a zero: `hci0`.
    package func opening(adapter address: BluetoothAddress?, name: String, time: ReceptionTime) -> [UInt8] {
        let note = "BLEStreams: ATT PDUs and advertising data are as on air, the rest is made up"
        let octets = address?.littleEndianOctets ?? [0, 0, 0, 0, 0, 0]
        let shortName = Array(name.utf8.prefix(7))
        let padding = [UInt8](repeating: 0, count: 8 - shortName.count)
        // Type 0, a primary controller, on bus 0, a virtual one.
        let newIndex: [UInt8] = [0x00, 0x00] + octets + shortName + padding
        let records = [
            record(.newIndex, newIndex, time),
            record(.openIndex, [], time),
            // 0xFFFF: no manufacturer.
            record(.indexInformation, octets + [0xFF, 0xFF], time),
        ]
        return BTSnoopHeader(datalink: .linuxMonitor).encoded + self.note(note, time: time) + records.flatMap(\.encoded)
    }

    /// A link has begun; `nil` when 3,839 links are open and no handle is left.
    package mutating func linkOpened(
        peer: BluetoothAddress,
        role: Role,
        time: ReceptionTime
    ) -> (link: LinkID, octets: [UInt8])? {
        guard let handle = unusedHandle() else { return nil }
        handles.insert(handle)
        var event = ByteWriter(capacity: 21)
        // LE Connection Complete; interval, latency, timeout and accuracy are unknown and stay zero.
        event.append([0x3E, 19, 0x01, 0x00])
        event.uint16(handle)
        event.append([role.rawValue, peer.kind == .public ? 0 : 1])
        event.append(peer.littleEndianOctets)
        event.append([0, 0, 0, 0, 0, 0, 0])
        return (LinkID(handle: handle), record(.event, event.bytes, time).encoded)
    }

    /// A PDU was handed to the link.
    package func sent(_ pdu: some Collection<UInt8>, on link: LinkID, time: ReceptionTime) -> [UInt8] {
        // Packet boundary flag 00: the beginning of a PDU, from the host.
        record(.dataSent, wrapped(pdu, handle: link.handle), time).encoded
    }

    /// A PDU was received on the link.
    package func received(_ pdu: some Collection<UInt8>, on link: LinkID, time: ReceptionTime) -> [UInt8] {
        // Packet boundary flag 10: the beginning of a PDU, from the controller.
        record(.dataReceived, wrapped(pdu, handle: link.handle | 0x2000), time).encoded
    }

    /// PDUs were lost before the next one; a note takes their place.
    package func dropped(_ count: Int, on link: LinkID, time: ReceptionTime) -> [UInt8] {
        note("\(count) PDUs of connection \(link.handle) were lost", time: time)
    }

    /// The link has ended.
    ///
    /// - Parameter status: The HCI status that the radio reported; without one, 0x1F, Unspecified Error, is written.
    package mutating func linkClosed(_ link: LinkID, status: UInt8?, time: ReceptionTime) -> [UInt8] {
        handles.remove(link.handle)
        // Disconnection Complete.
        var event = ByteWriter(capacity: 6)
        event.append([0x05, 4, 0x00])
        event.uint16(link.handle)
        event.uint8(status ?? 0x1F)
        return record(.event, event.bytes, time).encoded
    }

    /// A note for a person to read; it concerns no adapter.
    package func note(_ text: String, time: ReceptionTime) -> [UInt8] {
        BTSnoopRecord(opcode: .systemNote, index: 0xFFFF, time: time.sinceEpoch, data: Array(text.utf8) + [0]).encoded
    }

    private mutating func unusedHandle() -> UInt16? {
        guard handles.count < Int(Self.maximumHandle) else { return nil }
        repeat {
            nextHandle = nextHandle == Self.maximumHandle ? 1 : nextHandle + 1
        } while handles.contains(nextHandle)
        return nextHandle
    }

    /// Connection handle with flags, and length; length and channel of L2CAP; the PDU.
    private func wrapped(_ pdu: some Collection<UInt8>, handle: UInt16) -> [UInt8] {
        // No ATT PDU of a socket comes near 65,531 octets; the end of a longer one is left out.
        let pdu = pdu.prefix(0xFFFF - 4)
        var writer = ByteWriter(capacity: 8 + pdu.count)
        writer.uint16(handle)
        writer.uint16(UInt16(pdu.count + 4))
        writer.uint16(UInt16(pdu.count))
        writer.uint16(Self.attributeChannel)
        writer.append(pdu)
        return writer.bytes
    }

    func record(_ opcode: MonitorOpcode, _ data: [UInt8], _ time: ReceptionTime) -> BTSnoopRecord {
        BTSnoopRecord(opcode: opcode, index: index, time: time.sinceEpoch, data: data)
    }
}
