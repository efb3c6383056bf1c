import Testing

@testable import BLEProtocol

@Suite struct ManagementReplyTests {
    private func reply(_ text: String) throws -> ManagementReply {
        try #require(try ManagementReply(decoding: ManagementPacket(decoding: WireText.octets(text))))
    }

    private func response<Command: ManagementCommand>(
        to command: Command.Type,
        _ parameters: String
    ) throws -> Command.Response {
        let octets = WireText.octets(parameters)
        return try ManagementReply(
            opcode: Command.opcode,
            index: ManagementIndex(rawValue: 0),
            status: .success,
            parameters: octets[...]
        ).response(to: command)
    }

    @Test func `Command Complete carries opcode, status and what comes with it`() throws {
        let reply = try reply("0100 ffff 0600 0100 00 01 1600")
        #expect(reply.opcode == .readVersion && reply.status == .success && reply.index == .none)
        let version = try reply.response(to: ManagementReadVersion.self)
        #expect(version.version == 1 && version.revision == 22)
    }

    @Test func `Command Status carries opcode and status`() throws {
        let reply = try reply("0200 0000 0300 2300 0a")
        #expect(reply.opcode == .startDiscovery && reply.status == .busy && reply.parameters.octets.isEmpty)
    }

    @Test func `an event is no answer`() throws {
        let packet = try ManagementPacket(decoding: WireText.octets("0400 0000 0000"))
        #expect(try ManagementReply(decoding: packet) == nil)
    }

    @Test func `an answer that is too short names its command and the field`() throws {
        let error = #expect(throws: ManagementDecodingError.self) {
            try response(to: ManagementReadVersion.self, "01")
        }
        #expect(error == ManagementDecodingError(.answer(.readVersion), field: "revision"))
    }

    @Test func `fields that a newer kernel appends are left alone`() throws {
        #expect(try response(to: ManagementSetPowered.self, "01000000 ffff").settings == .powered)
    }

    @Test func `a controller's information is 280 octets`() throws {
        let name = "686369 30" + String(repeating: "00", count: 245)
        let short = "68 30" + String(repeating: "00", count: 9)
        let head = "000001aa0000 09 f105 ffbf0d00 130a0c00 0c0118"
        let answer = try response(to: ManagementReadInformation.self, head + name + short)
        #expect(answer.address == BluetoothAddress(rawValue: 0x00_00AA_0100_00, kind: .public))
        #expect(answer.bluetoothVersion == 9 && answer.manufacturer == 0x05F1)
        #expect(answer.supported.rawValue == 0x000D_BFFF)
        #expect(answer.current.isSuperset(of: [.powered, .connectable, .bondable, .lowEnergy, .secureConnections]))
        #expect(!answer.current.contains(.classic))
        #expect(answer.deviceClass == 0x18010C)
        #expect(answer.name == "hci0" && answer.shortName == "h0")
    }

    @Test func `extended information ends in AD structures`() throws {
        let answer = try response(
            to: ManagementReadExtendedInformation.self,
            "000001aa0000 09 f105 ffbe0100 80020000 0400 03190000"
        )
        #expect(answer.current == [.classic, .lowEnergy])
        #expect(answer.data.bytes == [0x03, 0x19, 0x00, 0x00])
    }

    @Test func `a link's strength of 127 means not known`() throws {
        let answer = try response(to: ManagementGetConnectionInformation.self, "bb1d1a17f2c402 c4 7f 04")
        #expect(answer.address.lowEnergy == BluetoothAddress("C4:F2:17:1A:1D:BB/random"))
        #expect(answer.rssi == -60 && answer.power == nil && answer.maximumPower == 4)
    }

    @Test func `connections are a counted list of addresses`() throws {
        let answer = try response(to: ManagementGetConnections.self, "0200 bb1d1a17f2c402 112233445566 00")
        #expect(answer.addresses.count == 2)
        #expect(answer.addresses.last?.lowEnergy == nil)
    }

    @Test func `advertising features and instances`() throws {
        let features = try response(to: ManagementReadAdvertisingFeatures.self, "7ff00100 1f fb 05 02 0103")
        #expect(features.maximumData == 31 && features.maximumScanResponse == 251)
        #expect(features.maximumInstances == 5 && features.instances == [1, 3])
        let parameters = try response(to: ManagementAddExtendedAdvertisingParameters.self, "01 ec fb fb")
        #expect(parameters.power == -20 && parameters.maximumData == 251)
        #expect(try response(to: ManagementAddAdvertising.self, "02").instance == 2)
    }

    @Test func `modulations and monitors`() throws {
        let phys = try response(to: ManagementGetPHYConfiguration.self, "ff7f0000 fe790000 ff070000")
        #expect(phys.selected.contains(.lowEnergy1MReceive) && !phys.selected.contains(.lowEnergy2MTransmit))
        let features = try response(to: ManagementReadMonitorFeatures.self, "01000000 00000000 2000 10 0100 0700")
        #expect(features.maximumHandles == 32 && features.maximumPatterns == 16 && features.handles == [7])
        #expect(try response(to: ManagementAddPatternsMonitor.self, "0300").handle == 3)
    }

    /// The replies are of BlueZ, tools/mgmt-tester.c.
    @Test func `of the experimental features the one is read that tells of both roles at once`() throws {
        let command = ManagementReadExperimentalFeatures.self
        let privacy = "040013ac4202deb3ea1173c248a1c015 02000000"
        let roles = "d649b0d128eb27929646c042b5101b67 00000000"
        #expect(try response(to: command, "0200" + roles + privacy).combinesRoles)
        #expect(try response(to: command, "0200" + privacy + roles).combinesRoles)
        #expect(try !response(to: command, "0100" + privacy).combinesRoles)
        #expect(try !response(to: command, "0000").combinesRoles)
        // Of Linux 5.15: the controller has it.
        let flagged = "d649b0d128eb27929646c042b5101b67 01000000"
        #expect(try response(to: command, "0200" + flagged + privacy).hasRolesFlag)
        #expect(try !response(to: command, "0200" + privacy + roles).hasRolesFlag)
        #expect(throws: ManagementDecodingError.self) { try response(to: command, "0200" + roles) }
    }

    @Test func `of the kernel's defaults the time for a silent peer is read, where it is there`() throws {
        let others = "0000 02 0000 1f00 01 01"
        let command = ManagementReadDefaultConfiguration.self
        #expect(try response(to: command, others + "1b00 02 204e").connectPatience == .seconds(20))
        #expect(try response(to: command, others).connectPatience == nil)
        #expect(try response(to: command, "").connectPatience == nil)
        #expect(throws: ManagementDecodingError.self) { try response(to: command, "1b00 02 20") }
    }
}
