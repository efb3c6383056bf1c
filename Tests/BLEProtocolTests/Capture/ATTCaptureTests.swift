import Testing

@testable import BLEProtocol

/// The records of these tests were read by btmon 5.66 and Wireshark 4.0 as the ATT PDUs that they are.
@Suite struct ATTCaptureTests {
    private let time = ReceptionTime(sinceEpoch: .seconds(946_684_800), source: .kernel)
    private let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    private let own = BluetoothAddress(rawValue: 0x00AA_0100_0000, kind: .public)

    private func records(_ octets: [UInt8]) -> [BTSnoopRecord] {
        var reader = ByteReader(octets)
        var records: [BTSnoopRecord] = []
        while let record = BTSnoopRecord(decoding: &reader) { records.append(record) }
        #expect(reader.isAtEnd)
        return records
    }

    private func open(
        _ capture: inout ATTCapture,
        _ role: ATTCapture.Role = .central
    ) throws -> (link: ATTCapture.LinkID, octets: [UInt8]) {
        let opened = capture.linkOpened(peer: peer, role: role, time: time)
        return try #require(opened)
    }

    private func text(_ text: String) -> String { text.filter { $0 != " " } }

    @Test func `the file opens with a note and the adapter`() throws {
        let octets = ATTCapture(index: 3).opening(adapter: own, name: "hci3", time: time)
        var reader = ByteReader(octets)
        #expect(BTSnoopHeader(decoding: &reader)?.datalink == .linuxMonitor)
        let records = records(Array(reader.rest()))
        #expect(records.map(\.opcode) == [.systemNote, .newIndex, .openIndex, .indexInformation])
        #expect(records.map(\.index) == [0xFFFF, 3, 3, 3])
        #expect(records.first?.data.last == 0)
        #expect(WireText.text(records[1].data) == text("00 00 00000001aa00 6863693300000000"))
        #expect(WireText.text(records[3].data) == text("00000001aa00 ffff"))
    }

    @Test func `a name longer than seven octets is cut, and a zero stands behind it`() {
        let octets = ATTCapture(index: 0).opening(adapter: nil, name: "simulated0", time: time)
        #expect(records(Array(octets.dropFirst(16)))[1].data.suffix(8).elementsEqual("simulat\0".utf8))
    }

    @Test func `a link begins with LE Connection Complete and ends with Disconnection Complete`() throws {
        var capture = ATTCapture(index: 0)
        let (link, opened) = try open(&capture, .peripheral)
        let begin = try #require(records(opened).first)
        #expect(begin.opcode == .event)
        #expect(WireText.text(begin.data) == text("3e13 01 00 0100 01 01 bb1d1a17f2c4 0000 0000 0000 00"))
        let ended = capture.linkClosed(link, status: 0x13, time: time)
        let end = try #require(records(ended).first)
        #expect(WireText.text(end.data) == text("0504 00 0100 13"))
        let again = try open(&capture)
        let closed = capture.linkClosed(again.link, status: nil, time: time)
        let unknown = try #require(records(closed).first)
        #expect(WireText.text(unknown.data) == text("0504 00 0200 1f"))
    }

    @Test func `PDUs travel in L2CAP channel 4 and HCI data`() throws {
        var capture = ATTCapture(index: 0)
        let (link, _) = try open(&capture)
        let sent = try #require(records(capture.sent([0x02, 0x05, 0x02], on: link, time: time)).first)
        #expect(sent.opcode == .dataSent && sent.time == time.sinceEpoch)
        #expect(WireText.text(sent.data) == text("0100 0700 0300 0400 020502"))
        let pdu: ArraySlice<UInt8> = [0x03, 0x05, 0x02]
        let received = try #require(records(capture.received(pdu, on: link, time: time)).first)
        #expect(received.opcode == .dataReceived)
        #expect(WireText.text(received.data) == text("0120 0700 0300 0400 030502"))
    }

    @Test func `what was lost is noted in its place`() throws {
        var capture = ATTCapture(index: 0)
        let (link, _) = try open(&capture)
        let note = try #require(records(capture.dropped(3, on: link, time: time)).first)
        #expect(note.opcode == .systemNote)
        #expect(String(decoding: note.data.dropLast(), as: UTF8.self) == "3 PDUs of connection 1 were lost")
    }

    @Test func `links that are open at the same time have handles of their own`() throws {
        var capture = ATTCapture(index: 0)
        var links: [ATTCapture.LinkID] = []
        while let (link, _) = capture.linkOpened(peer: peer, role: .central, time: time) { links.append(link) }
        #expect(links.count == 0x0EFF && Set(links).count == links.count)
        _ = capture.linkClosed(links[7], status: nil, time: time)
        #expect(try open(&capture).link == links[7])
    }

    @Test func `an advertisement is the event of a controller, legacy where it fits and extended where it doesn't`()
        throws
    {
        let capture = ATTCapture(index: 0)
        func event(_ data: [UInt8], rssi: Int8? = -61, isConnectable: Bool = true) -> [BTSnoopRecord] {
            let octets = capture.advertised(
                by: peer,
                isConnectable: isConnectable,
                rssi: rssi,
                data: data,
                time: time
            )
            return records(octets)
        }
        let short = try #require(event([2, 1, 6]).first)
        #expect(short.opcode == .event && short.time == time.sinceEpoch)
        #expect(WireText.text(short.data) == text("3e0f 02 01 00 01 bb1d1a17f2c4 03 020106 c3"))
        let beacon = try #require(event([], rssi: nil, isConnectable: false).first)
        #expect(WireText.text(beacon.data) == text("3e0c 02 01 03 01 bb1d1a17f2c4 00 7f"))
        let long = try #require(event([UInt8](repeating: 0x41, count: 32)).first)
        let head = text("3e3a 0d 01 0100 01 bb1d1a17f2c4 01 01 ff 7f c3 0000 00 000000000000 20")
        #expect(WireText.text(long.data) == head + String(repeating: "41", count: 32))
        // 300 octets take two events, of which the first says that there is more: cut behind the third structure of 66.
        let parts = event([UInt8](repeating: 0x41, count: 300))
        #expect(parts.map { $0.data.dropFirst(4).first } == [0x21, 0x01])
        #expect(parts.map { $0.data.dropFirst(27).first } == [198, 102])
        // A structure that is longer than an event is cut within.
        let cut = event([2, 1, 6, 254] + [UInt8](repeating: 0xFF, count: 254) + [2, 1, 6])
        #expect(cut.map { $0.data.dropFirst(27).first } == [3, 229, 29])
        #expect(parts.allSatisfy { $0.data.count == Int($0.data.dropFirst().first ?? 0) + 2 })
    }
}
