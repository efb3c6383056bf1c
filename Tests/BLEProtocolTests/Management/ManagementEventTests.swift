import Testing

@testable import BLEProtocol

@Suite struct ManagementEventTests {
    private static let peer = ManagementAddress(rawValue: 0xC4F2_171A_1DBB, kind: .lowEnergyRandom)
    private static let peerText = "bb1d1a17f2c402"

    private func event(_ code: UInt16, _ parameters: String) throws -> ManagementEvent {
        let octets = WireText.octets(parameters)
        return try ManagementEvent(
            decoding: ManagementPacket(code: code, index: ManagementIndex(rawValue: 0), parameters: octets[...])
        )
    }

    @Test func `Device Found carries address, strength, flags and data`() throws {
        let data = "020106 03030d18 0909 42756d626c654852"
        let event = try event(0x0012, Self.peerText + "c4 04000000 1100" + data)
        guard case .deviceFound(let found) = event else {
            Issue.record("\(event)")
            return
        }
        #expect(found.address == Self.peer && found.rssi == -60 && found.flags == .notConnectable)
        #expect(WireText.text(found.data.bytes) == data.filter { $0 != " " })
    }

    @Test func `a strength of 127 means not known`() throws {
        guard case .deviceFound(let found) = try event(0x0012, Self.peerText + "7f 00000000 0000") else {
            Issue.record("not decoded")
            return
        }
        #expect(found.rssi == nil && found.data.bytes.isEmpty)
    }

    @Test func `a monitor's report has its handle in front`() throws {
        let event = try event(0x002F, "0100" + Self.peerText + "c4 20000000 0300 020106")
        guard case .monitorDeviceFound(let handle, let found) = event else {
            Issue.record("\(event)")
            return
        }
        #expect(handle == 1 && found.flags == .scanResponse && found.data.bytes == [0x02, 0x01, 0x06])
        #expect(try self.event(0x0030, "0100" + Self.peerText) == .monitorDeviceLost(handle: 1, Self.peer))
    }

    @Test func `links come and go with a reason`() throws {
        guard case .deviceConnected(let connected) = try event(0x000B, Self.peerText + "08000000 0000") else {
            Issue.record("not decoded")
            return
        }
        #expect(connected.address == Self.peer && connected.flags == .initiatedHere)
        #expect(try event(0x000C, Self.peerText + "01") == .deviceDisconnected(Self.peer, .timeout))
        #expect(try event(0x000D, Self.peerText + "0e") == .connectFailed(Self.peer, .disconnected))
        #expect(ManagementDisconnectReason.timeout.kind == .supervisionTimeout)
        #expect(ManagementDisconnectReason.remote.kind == .closedByPeer)
        #expect(ManagementDisconnectReason(rawValue: 99).kind == .other)
    }

    @Test func `controllers, settings and discovery`() throws {
        #expect(try event(0x0004, "") == .indexAdded)
        #expect(try event(0x0005, "") == .indexRemoved)
        #expect(try event(0x0020, "00 01") == .extendedIndexAdded(type: 0, bus: 1))
        #expect(try event(0x0021, "00 01") == .extendedIndexRemoved(type: 0, bus: 1))
        #expect(try event(0x0006, "01020000") == .newSettings([.powered, .lowEnergy]))
        #expect(try event(0x0013, "06 00") == .discovering(.lowEnergy, isOn: false))
        #expect(try event(0x0003, "07") == .controllerError(code: 7))
        #expect(try event(0x002D, "01") == .controllerSuspend(state: 1))
        #expect(try event(0x002E, "02" + Self.peerText) == .controllerResume(reason: 2, Self.peer))
        let name = "6869" + String(repeating: "00", count: 247) + "68" + String(repeating: "00", count: 10)
        #expect(try event(0x0008, name) == .localNameChanged(name: "hi", shortName: "h"))
    }

    @Test func `advertisements, monitors and modulations`() throws {
        #expect(try event(0x0023, "01") == .advertisingAdded(instance: 1))
        #expect(try event(0x0024, "01") == .advertisingRemoved(instance: 1))
        #expect(try event(0x002B, "0100") == .monitorAdded(handle: 1))
        #expect(try event(0x002C, "0000") == .monitorRemoved(handle: 0))
        #expect(try event(0x0026, "00060000") == .phyConfigurationChanged([.lowEnergy1MTransmit, .lowEnergy1MReceive]))
    }

    @Test func `devices that the kernel watches for`() throws {
        #expect(try event(0x001A, Self.peerText + "02") == .deviceAdded(Self.peer, action: 2))
        #expect(try event(0x001B, Self.peerText) == .deviceRemoved(Self.peer))
        #expect(try event(0x0016, Self.peerText) == .deviceUnpaired(Self.peer))
        guard case .deviceFlagsChanged(let flags) = try event(0x002A, Self.peerText + "07000000 06000000") else {
            Issue.record("not decoded")
            return
        }
        #expect(flags.current == [.devicePrivacy, .addressResolution])
        let parameters = try event(0x001C, Self.peerText + "01 0600 0c00 0000 c800")
        guard case .newConnectionParameter(let new) = parameters else {
            Issue.record("\(parameters)")
            return
        }
        #expect(new.storeHint && new.parameters.maximumInterval == 12 && new.parameters.supervisionTimeout == 200)
    }

    @Test func `a pairing asks, shows and fails`() throws {
        guard case .userConfirmationRequest(let hint) = try event(0x000F, Self.peerText + "01 00000000"),
            case .userConfirmationRequest(let compare) = try event(0x000F, Self.peerText + "00 40e20100"),
            case .passkeyNotify(let notify) = try event(0x0017, Self.peerText + "40e20100 03")
        else {
            Issue.record("not decoded")
            return
        }
        #expect(hint.value == nil && compare.value == 123_456)
        #expect(notify.passkey == 123_456 && notify.entered == 3)
        #expect(!"\(notify)".contains("123456"))
        #expect(try event(0x0010, Self.peerText) == .userPasskeyRequest(Self.peer))
        #expect(try event(0x0011, Self.peerText + "05") == .authenticationFailed(Self.peer, .authenticationFailed))
    }

    @Test func `new keys are decoded and never printed`() throws {
        let value = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"
        let events = [
            try event(0x000A, "01" + Self.peerText + "02 00 10 1122 0102030405060708" + value),
            try event(0x0018, "01 112233445566" + Self.peerText + value),
            try event(0x0019, "01" + Self.peerText + "01" + value),
        ]
        guard case .newLongTermKey(let longTerm) = events[0],
            case .newIdentityResolvingKey(let identity) = events[1],
            case .newSignatureResolvingKey(let signature) = events[2]
        else {
            Issue.record("\(events)")
            return
        }
        #expect(longTerm.storeHint && longTerm.key.kind == .unauthenticatedSecureConnections)
        #expect(longTerm.key.size == 16 && longTerm.key.diversifier == 0x2211)
        #expect(longTerm.key.random == 0x0807_0605_0403_0201)
        #expect(identity.privateAddress == BluetoothAddress("66:55:44:33:22:11/random"))
        #expect(identity.key.address == Self.peer && signature.key.type == 1)
        for key in [longTerm.key.value, identity.key.value, signature.key.value] {
            #expect(WireText.text(key.octets) == value)
        }
        for event in events {
            var text = "\(event) \(String(reflecting: event))"
            dump(event, to: &text)
            // 0xA0 and 0xAF as they would look in hex, in decimal, and as halves of a number.
            for trace in ["a0a1", "160, 161", "11574711341044573863", "12153432723749187247"] {
                #expect(!text.contains(trace), "\(trace) in \(text)")
            }
        }
    }

    @Test func `an unknown event survives, unprinted`() throws {
        let event = try event(0x00F0, "a0a1")
        #expect(event == .unknown(ManagementEventCode(rawValue: 0x00F0), .init(octets: [0xA0, 0xA1])))
        var text = "\(event)"
        dump(event, to: &text)
        #expect(!text.contains("160") && !text.contains("a0"))
    }

    @Test func `an event that is too short names its field`() {
        let error = #expect(throws: ManagementDecodingError.self) {
            try event(0x0012, Self.peerText + "c4 00000000 0500 020106")
        }
        #expect(error == ManagementDecodingError(.event(.deviceFound), field: "advertising data"))
    }
}
