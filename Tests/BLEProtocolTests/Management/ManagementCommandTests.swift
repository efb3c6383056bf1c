import Testing

@testable import BLEProtocol

/// The octets of each command, written down from the protocol's document field by field.
@Suite struct ManagementCommandTests {
    private static let peer = ManagementAddress(rawValue: 0xC4F2_171A_1DBB, kind: .lowEnergyRandom)
    private static let peerText = "bb1d1a17f2c402"

    private func expect<Command: ManagementCommand>(
        _ command: Command,
        _ opcode: UInt16,
        _ parameters: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let packet = command.packet(index: ManagementIndex(rawValue: 0))
        #expect(packet.code == opcode, sourceLocation: sourceLocation)
        #expect(
            WireText.text(packet.parameters) == parameters.filter { $0 != " " },
            sourceLocation: sourceLocation
        )
    }

    @Test func `questions about the system have no parameters`() {
        expect(ManagementReadVersion(), 0x0001, "")
        expect(ManagementReadInformation(), 0x0004, "")
        expect(ManagementGetConnections(), 0x0015, "")
        expect(ManagementReadAdvertisingFeatures(), 0x003D, "")
        expect(ManagementReadExtendedInformation(), 0x0042, "")
        expect(ManagementGetPHYConfiguration(), 0x0044, "")
        expect(ManagementReadMonitorFeatures(), 0x0051, "")
    }

    @Test func `a switch is one octet`() {
        expect(ManagementSetPowered(true), 0x0005, "01")
        expect(ManagementSetPowered(false), 0x0005, "00")
        expect(ManagementSetConnectable(true), 0x0007, "01")
        expect(ManagementSetBondable(true), 0x0009, "01")
        expect(ManagementSetSecureSimplePairing(true), 0x000B, "01")
        expect(ManagementSetLowEnergy(true), 0x000D, "01")
        expect(ManagementSetClassic(false), 0x002A, "00")
        expect(ManagementSetSecureConnections(.only), 0x002D, "02")
        expect(ManagementSetIOCapability(.noInputNoOutput), 0x0018, "03")
        expect(ManagementSetDiscoverable(.limited, timeout: 0x1234), 0x0006, "02 3412")
    }

    @Test func `how long a silent peer is waited for is a default of the kernel, in milliseconds`() {
        expect(ManagementReadDefaultConfiguration(), 0x004B, "")
        expect(ManagementReadExperimentalFeatures(), 0x0049, "")
        expect(ManagementSetConnectPatience(.seconds(3)), 0x004C, "1b00 02 b80b")
        expect(ManagementSetConnectPatience(.seconds(600)), 0x004C, "1b00 02 ffff")
    }

    @Test func `a discovery names its transports`() {
        expect(ManagementStartDiscovery(), 0x0023, "06")
        expect(ManagementStopDiscovery([.lowEnergy, .classic]), 0x0024, "07")
    }

    @Test func `a discovery of services carries full UUIDs and 127 for any strength`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        expect(
            ManagementStartServiceDiscovery(services: [BluetoothUUID(0x180D), own]),
            0x003A,
            "06 7f 0200 fb349b5f80000080001000000d180000 1bc5d5a50200469ae111b78d60b4452d"
        )
        expect(ManagementStartServiceDiscovery(threshold: -60, services: []), 0x003A, "06 c4 0000")
    }

    @Test func `a device is its address, least significant octet first, and a type`() {
        expect(ManagementDisconnect(Self.peer), 0x0014, Self.peerText)
        expect(ManagementGetConnectionInformation(Self.peer), 0x0031, Self.peerText)
        expect(ManagementAddDevice(Self.peer, action: .connect), 0x0033, Self.peerText + "02")
        expect(ManagementRemoveDevice(.any), 0x0034, "00000000000000")
        expect(ManagementGetDeviceFlags(Self.peer), 0x004F, Self.peerText)
        expect(ManagementSetDeviceFlags(Self.peer, flags: .devicePrivacy), 0x0050, Self.peerText + "02000000")
    }

    @Test func `pairing and its replies`() {
        expect(ManagementPairDevice(Self.peer, capability: .keyboardDisplay), 0x0019, Self.peerText + "04")
        expect(ManagementCancelPairDevice(Self.peer), 0x001A, Self.peerText)
        expect(ManagementUnpairDevice(Self.peer, disconnects: true), 0x001B, Self.peerText + "01")
        expect(ManagementUserConfirmationReply(Self.peer), 0x001C, Self.peerText)
        expect(ManagementUserConfirmationNegativeReply(Self.peer), 0x001D, Self.peerText)
        expect(ManagementUserPasskeyReply(Self.peer, passkey: 123_456), 0x001E, Self.peerText + "40e20100")
        expect(ManagementUserPasskeyNegativeReply(Self.peer), 0x001F, Self.peerText)
    }

    @Test func `keys are loaded as a counted list`() throws {
        let value = try #require(SecretKey(octets: 0x10...0x1F))
        let key = ManagementLongTermKey(
            address: Self.peer,
            kind: .authenticatedSecureConnections,
            initiator: 1,
            size: 16,
            diversifier: 0x2211,
            random: 0x0807_0605_0403_0201,
            value: value
        )
        let valueText = "101112131415161718191a1b1c1d1e1f"
        let keyText = Self.peerText + "03 01 10 1122 0102030405060708" + valueText
        expect(ManagementLoadLongTermKeys([]), 0x0013, "0000")
        expect(ManagementLoadLongTermKeys([key, key]), 0x0013, "0200" + keyText + keyText)
        let identity = ManagementIdentityResolvingKey(address: Self.peer, value: value)
        expect(ManagementLoadIdentityResolvingKeys([identity]), 0x0030, "0100" + Self.peerText + valueText)
        expect(ManagementSetPrivacy(.on, identityKey: value), 0x002F, "01" + valueText)
    }

    @Test func `connection parameters are loaded as a counted list`() {
        let parameters = ManagementConnectionParameters(
            address: Self.peer,
            minimumInterval: 6,
            maximumInterval: 0x0C80,
            latency: 499,
            supervisionTimeout: 3200
        )
        expect(
            ManagementLoadConnectionParameters([parameters]),
            0x0035,
            "0100" + Self.peerText + "0600 800c f301 800c"
        )
    }

    @Test func `an advertisement carries both lengths before both data`() {
        let data = AdvertisingData(bytes: WireText.octets("03030d18"))
        let response = AdvertisingData(bytes: WireText.octets("020a04"))
        expect(
            ManagementAddAdvertising(
                instance: 1,
                flags: [.connectable, .generalDiscoverable],
                duration: 2,
                timeout: 0x0102,
                data: data,
                scanResponse: response
            ),
            0x003E,
            "01 03000000 0200 0201 04 03 03030d18 020a04"
        )
        expect(ManagementRemoveAdvertising(instance: 0), 0x003F, "00")
        expect(
            ManagementAddExtendedAdvertisingParameters(
                instance: 1,
                flags: [.hasIntervals, .hasPower],
                minimumInterval: 0xA0,
                maximumInterval: 0x0001_0000,
                power: -20
            ),
            0x0054,
            "01 00c00000 0000 0000 a0000000 00000100 ec"
        )
        expect(
            ManagementAddExtendedAdvertisingData(instance: 1, data: data, scanResponse: response),
            0x0055,
            "01 04 03 03030d18 020a04"
        )
        expect(
            ManagementSetPHYConfiguration([.lowEnergy2MTransmit, .lowEnergyCodedReceive]),
            0x0045,
            "00480000"
        )
    }

    @Test func `a monitor's patterns are padded to 31 octets`() {
        let pattern = ManagementAdvertisingPattern(type: 0x03, offset: 1, value: [0x0D, 0x18])
        let patternText = "03 01 02 0d18" + String(repeating: "00", count: 29)
        expect(ManagementAddPatternsMonitor([pattern]), 0x0052, "01" + patternText)
        expect(ManagementRemoveMonitor(handle: 0x0201), 0x0053, "0102")
    }
}
