import Testing

@testable import BLEProtocol

@Suite struct ManagementPacketTests {
    @Test func `a command is its opcode, its controller, a length and its parameters`() {
        let packet = ManagementSetPowered(true).packet(index: ManagementIndex(rawValue: 0x0102))
        #expect(WireText.text(packet.encoded) == "0500 0201 0100 01".filter { $0 != " " })
    }

    @Test func `a datagram is taken apart into code, controller and parameters`() throws {
        let packet = try ManagementPacket(decoding: WireText.octets("1300 0000 0200 0601"))
        #expect(packet.code == 0x0013)
        #expect(packet.index == ManagementIndex(rawValue: 0))
        #expect(packet.parameters == [0x06, 0x01])
    }

    @Test(arguments: ["", "13", "1300000002", "130000000200", "13000000020006", "130000000200060100"])
    func `a datagram whose length field is wrong or absent is refused`(text: String) {
        #expect(throws: ManagementDecodingError.self) { try ManagementPacket(decoding: WireText.octets(text)) }
    }

    @Test func `no adapter has the index ffff`() {
        #expect(ManagementReadVersion().packet(index: .none).encoded == [0x01, 0x00, 0xFF, 0xFF, 0x00, 0x00])
    }

    @Test func `parameters are not printed`() throws {
        let packet = try ManagementPacket(decoding: WireText.octets("0a00 0000 0200 abcd"))
        var dumped = ""
        dump(packet, to: &dumped)
        #expect(!"\(packet)\(dumped)".contains("171") && !"\(packet)\(dumped)".contains("ab"))
    }

    @Test func `codes print their names, unknown ones their numbers`() {
        #expect("\(ManagementOpcode.startDiscovery)" == "Start Discovery")
        #expect("\(ManagementOpcode(rawValue: 0x00AB))" == "command 0xab")
        #expect("\(ManagementEventCode.deviceFound)" == "Device Found")
        #expect("\(ManagementEventCode(rawValue: 0x00AB))" == "event 0xab")
        #expect("\(ManagementStatus.busy)" == "Busy (0x0a)")
        #expect("\(ManagementStatus(rawValue: 0x63))" == "0x63")
    }

    @Test func `settings print their names, unknown bits their numbers`() {
        let settings = ManagementSettings(rawValue: 0x0200_0A01)
        #expect("\(settings)" == "powered le secure-conn bit 25")
    }

    @Test func `an adapter that is off is told apart from one that is busy`() {
        let off = ManagementStatus.notPowered.error(for: .startDiscovery, operation: "scan", object: "hci0")
        #expect(off.code == .adapterPoweredOff)
        #expect(!off.remedy.isEmpty)
        #expect(ManagementStatus.busy.errorCode == .busy)
        #expect(ManagementStatus(rawValue: 0x63).errorCode == .systemFailure)
    }
}
