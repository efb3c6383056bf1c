import Testing

@testable import BLEProtocol

@Suite struct DiscoverServicesTests {
    @Test func `all primary services are found, of both widths, up to Attribute Not Found`() throws {
        let own: BluetoothUUID = "00006085-0000-0000-0123-456789ABCDEF"
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 1000 1300 0018 2000 2900 b068")
        bearer.expect("10 2a00 ffff 0028", answeredWith: "11 14 9000 9600 efcdab89674523010000000085600000")
        bearer.expect("10 9700 ffff 0028", answeredWith: "01 10 9700 0a")
        let services = [
            GATTService(uuid: BluetoothUUID(0x1800), handle: 0x10, endHandle: 0x13),
            GATTService(uuid: BluetoothUUID(0x68B0), handle: 0x20, endHandle: 0x29),
            GATTService(uuid: own, handle: 0x90, endHandle: 0x96),
        ]
        bearer.expectFinished(.success(id, services))
    }

    @Test func `a last handle of FFFF ends the list without another request`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 10f0 18f0 0018 ffff ffff 0a18")
        bearer.expectSends()
        let services = [
            GATTService(uuid: BluetoothUUID(0x1800), handle: 0xF010, endHandle: 0xF018),
            GATTService(uuid: BluetoothUUID(0x180A), handle: 0xFFFF, endHandle: 0xFFFF),
        ]
        bearer.expectFinished(.success(id, services))
    }

    @Test func `an end of FFFF within a smaller range is held to the range`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices(in: 0x0010...0x0040))
        bearer.expect("10 1000 4000 0028", answeredWith: "11 06 1000 ffff 0018")
        bearer.expectSends()
        bearer.expectFinished(.success(id, [GATTService(uuid: BluetoothUUID(0x1800), handle: 0x10, endHandle: 0x40)]))
    }

    @Test func `an answer that leads nowhere ends the list`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 1000 1300 0018")
        bearer.expect("10 1400 ffff 0028", answeredWith: "11 06 1000 1300 0018")
        bearer.expectSends()
        bearer.expectFinished(.success(id, [GATTService(uuid: BluetoothUUID(0x1800), handle: 0x10, endHandle: 0x13)]))
    }

    @Test func `a group that ends before it begins doesn't hide the services behind it`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 0100 0500 0018 0600 0300 0118")
        bearer.expect("10 0600 ffff 0028", answeredWith: "11 06 0600 0300 0118")
        bearer.expect("10 0700 ffff 0028", answeredWith: "11 06 1000 1300 0f18")
        bearer.expect("10 1400 ffff 0028", answeredWith: "01 10 1400 0a")
        bearer.expectFinished(
            .success(
                id,
                [
                    GATTService(uuid: BluetoothUUID(0x1800), handle: 1, endHandle: 5),
                    GATTService(uuid: BluetoothUUID(0x180F), handle: 0x10, endHandle: 0x13),
                ]
            )
        )
        let byUUID = bearer.begin(DiscoverServicesByUUID(BluetoothUUID(0x180F)))
        bearer.expect("06 0100 ffff 0028 0f18", answeredWith: "07 0600 0300")
        bearer.expect("06 0700 ffff 0028 0f18", answeredWith: "07 1000 ffff")
        bearer.expectFinished(
            .success(byUUID, [GATTService(uuid: BluetoothUUID(0x180F), handle: 0x10, endHandle: 0xFFFF)])
        )
    }

    @Test func `a service that an earlier answer had out of order doesn't hide the services behind it`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 1000 1f00 0018 0100 0f00 0118")
        bearer.expect("10 1000 ffff 0028", answeredWith: "11 06 1000 1f00 0018")
        bearer.expect("10 2000 ffff 0028", answeredWith: "11 06 2000 ffff 0f18")
        bearer.expectSends()
        let services = [
            GATTService(uuid: BluetoothUUID(0x1801), handle: 1, endHandle: 0x0F),
            GATTService(uuid: BluetoothUUID(0x1800), handle: 0x10, endHandle: 0x1F),
            GATTService(uuid: BluetoothUUID(0x180F), handle: 0x20, endHandle: 0xFFFF),
        ]
        bearer.expectFinished(.success(id, services))
        let byUUID = bearer.begin(DiscoverServicesByUUID(BluetoothUUID(0x180F)))
        bearer.expect("06 0100 ffff 0028 0f18", answeredWith: "07 1000 1f00 0100 0f00")
        bearer.expect("06 1000 ffff 0028 0f18", answeredWith: "07 1000 1f00")
        bearer.expect("06 2000 ffff 0028 0f18", answeredWith: "07 2000 ffff")
        bearer.expectSends()
        let batteries = services.map {
            GATTService(uuid: BluetoothUUID(0x180F), handle: $0.handle, endHandle: $0.endHandle)
        }
        bearer.expectFinished(.success(byUUID, batteries))
    }

    @Test func `services out of order, declared twice, overlapping or turned around are put right`() {
        var bearer = Bearer(mtu: 100)
        let id = bearer.begin(DiscoverServices())
        let list = "3000 3f00 0218  1000 3500 0018  1000 1100 0018  2000 1f00 0118  4000 ffff 0318"
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06" + list)
        bearer.expectSends()
        let services = [
            GATTService(uuid: BluetoothUUID(0x1800), handle: 0x10, endHandle: 0x2F),
            GATTService(uuid: BluetoothUUID(0x1802), handle: 0x30, endHandle: 0x3F),
            GATTService(uuid: BluetoothUUID(0x1803), handle: 0x40, endHandle: 0xFFFF),
        ]
        bearer.expectFinished(.success(id, services))
    }

    @Test(arguments: ["01 10 0100 10", "01 10 0100 0a"])
    func `a server without secondary services may say so in two ways`(answer: String) {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServices(isPrimary: false))
        bearer.expect("10 0100 ffff 0128", answeredWith: answer)
        bearer.expectFinished(.success(id, [GATTService]()))
    }

    @Test func `another error fails the discovery, a length that no UUID has too`() {
        var bearer = Bearer()
        let refused = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "01 10 0100 0f")
        let malformed = bearer.begin(DiscoverServices())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 08 1000 1300 00180000")
        let error = ATTDecodingError(opcode: .readByGroupTypeResponse, offset: 1, reason: .invalidEntryLength)
        bearer.expectFinished(
            .failure(refused, .attribute(.insufficientEncryption, handle: 1)),
            .failure(malformed, .malformedResponse(error))
        )
    }

    @Test func `services of one UUID are found by value`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServicesByUUID(BluetoothUUID(0x1800)))
        bearer.expect("06 0100 ffff 0028 0018", answeredWith: "07 0100 0700 2000 2500")
        bearer.expect("06 2600 ffff 0028 0018", answeredWith: "01 06 2600 0a")
        let services = [
            GATTService(uuid: BluetoothUUID(0x1800), handle: 1, endHandle: 7),
            GATTService(uuid: BluetoothUUID(0x1800), handle: 0x20, endHandle: 0x25),
        ]
        bearer.expectFinished(.success(id, services))
    }

    @Test func `what is not found in 16 bits is looked for in 128 bits`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverServicesByUUID(BluetoothUUID(0x180D)))
        bearer.expect("06 0100 ffff 0028 0d18", answeredWith: "01 06 0100 0a")
        let long = "fb349b5f80000080001000000d180000"
        bearer.expect("06 0100 ffff 0028" + long, answeredWith: "07 1000 ffff")
        bearer.expectSends()
        bearer.expectFinished(.success(id, [GATTService(uuid: BluetoothUUID(0x180D), handle: 0x10, endHandle: 0xFFFF)]))

        let none = bearer.begin(DiscoverServicesByUUID(BluetoothUUID(0x180D)))
        bearer.expect("06 0100 ffff 0028 0d18", answeredWith: "01 06 0100 0a")
        bearer.expect("06 0100 ffff 0028" + long, answeredWith: "01 06 0100 0a")
        bearer.expectFinished(.success(none, [GATTService]()))
    }

    @Test func `a service that is listed over and over is kept once, while the discovery goes on`() throws {
        let context = GATTContext(mtu: 517, maximumMTU: 517, isMTUExchanged: true)
        var all = DiscoverServices()
        var byUUID = DiscoverServicesByUUID(BluetoothUUID(0x1800))
        _ = try all.start(context)
        _ = try byUUID.start(context)
        for handle in ["0100", "0200", "0300"] {
            let entry = handle + handle
            let list = pdu("1106" + String(repeating: entry + "0018", count: 80))
            _ = try all.received(GATTAnswer(.response(list[...]), mtu: 517), context)
            let values = pdu("07" + String(repeating: entry, count: 120))
            _ = try byUUID.received(GATTAnswer(.response(values[...]), mtu: 517), context)
        }
        #expect(all.found.map(\.handle) == [1, 2, 3])
        #expect(byUUID.found.map(\.handle) == [1, 2, 3])
    }
}
