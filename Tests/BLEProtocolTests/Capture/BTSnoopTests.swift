import Testing

@testable import BLEProtocol

@Suite struct BTSnoopTests {
    private let header = "6274736e6f6f7000 00000001 000007d1"

    private func text(_ text: String) -> String { text.filter { $0 != " " } }

    @Test func `a file begins with its name, its version and what its packets are`() {
        #expect(WireText.text(BTSnoopHeader(datalink: .linuxMonitor).encoded) == text(header))
        var reader = ByteReader(WireText.octets(header))
        #expect(BTSnoopHeader(decoding: &reader)?.datalink == .linuxMonitor)
        #expect(reader.isAtEnd)
    }

    @Test(arguments: ["", "6274736e6f6f70", "6274736e6f6f7001 00000001 000007d1", "6274736e6f6f7000 00000002 000007d1"])
    func `other files are refused`(text: String) {
        var reader = ByteReader(WireText.octets(text))
        #expect(BTSnoopHeader(decoding: &reader) == nil)
    }

    /// The format's document gives 2000-01-01 as 0x00E03AB44A676000.
    @Test func `a record counts microseconds since the year 0`() {
        let record = BTSnoopRecord(opcode: .event, index: 1, time: .seconds(946_684_800), data: [0x0E, 0x00])
        let expected = text("00000002 00000002 00010003 00000000 00e03ab44a676000 0e00")
        #expect(WireText.text(record.encoded) == expected)
        var reader = ByteReader(WireText.octets(expected))
        let decoded = BTSnoopRecord(decoding: &reader)
        #expect(decoded == record && decoded?.opcode == .event && decoded?.index == 1)
        #expect(reader.isAtEnd)
    }

    @Test func `a record may hold only the first octets of its packet`() throws {
        var reader = ByteReader(WireText.octets("00000009 00000001 00000002 00000007 00dcddb30f2f8001 ff"))
        let record = try #require(BTSnoopRecord(decoding: &reader))
        #expect(record.originalLength == 9 && record.data == [0xFF] && record.drops == 7)
        #expect(record.time == .microseconds(1))
        #expect(record.encoded.count == 25)
    }

    @Test func `the end of a file within a record ends the records`() {
        let record = BTSnoopRecord(opcode: .event, index: 0, time: .zero, data: [1, 2, 3]).encoded
        for count in 0..<record.count {
            var reader = ByteReader(record.prefix(count))
            #expect(BTSnoopRecord(decoding: &reader) == nil)
        }
    }

    @Test func `HCI packets carry their type and direction`() {
        let sent = BTSnoopRecord(hciUART: .dataSent, time: .zero, data: [0xAA])
        let received = BTSnoopRecord(hciUART: .dataReceived, time: .zero, data: [0xAA])
        let event = BTSnoopRecord(hciUART: .event, time: .zero, data: [0xAA])
        let command = BTSnoopRecord(hciUART: .command, time: .zero, data: [0xAA])
        #expect([sent, received, event, command].map { $0?.flags } == [0, 1, 3, 2])
        #expect([sent, received, event, command].map { $0?.data.first } == [0x02, 0x02, 0x04, 0x01])
        #expect(BTSnoopRecord(hciUART: .systemNote, time: .zero, data: []) == nil)
    }
}
