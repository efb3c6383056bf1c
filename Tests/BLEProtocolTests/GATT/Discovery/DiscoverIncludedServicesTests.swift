import Testing

@testable import BLEProtocol

@Suite struct DiscoverIncludedServicesTests {
    @Test func `a UUID of 128 bits is read from the declaration of the service`() throws {
        let own: BluetoothUUID = "EFCDAB89-6745-2301-0000-0000393E0000"
        var bearer = Bearer()
        let id = bearer.begin(DiscoverIncludedServices(in: 1...0xFFFF))
        bearer.expect("08 0100 ffff 0228", answeredWith: "09 08 0200 1000 1f00 0f18")
        bearer.expect("08 0300 ffff 0228", answeredWith: "09 06 0300 2000 2f00 0400 3000 3f00")
        bearer.expect("0a 2000", answeredWith: "0b 00003e39000000000123456789abcdef")
        bearer.expect("0a 3000", answeredWith: "01 0a 3000 01")
        bearer.expect("08 0500 ffff 0228", answeredWith: "01 08 0500 0a")
        let found = [
            GATTService.Inclusion(uuid: BluetoothUUID(0x180F), handle: 2, startHandle: 0x10, endHandle: 0x1F),
            GATTService.Inclusion(uuid: own, handle: 3, startHandle: 0x20, endHandle: 0x2F),
        ]
        bearer.expectFinished(.success(id, found))
    }

    @Test func `references to impossible ranges, and to what is no service, are left out`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverIncludedServices(in: 1...8))
        bearer.expect("08 0100 0800 0228", answeredWith: "09 08 0200 0000 1f00 0f18 0300 2000 1f00 0f18")
        bearer.expect("08 0400 0800 0228", answeredWith: "09 06 0800 2000 2f00")
        bearer.expect("0a 2000", answeredWith: "0b 000102")
        bearer.expectSends()
        bearer.expectFinished(.success(id, [GATTService.Inclusion]()))
    }

    @Test func `a reference of an odd length is left out`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverIncludedServices(in: 1...8))
        bearer.expect("08 0100 0800 0228", answeredWith: "09 07 0200 2000 2f00 0f")
        bearer.expect("08 0300 0800 0228", answeredWith: "09 08 0300 1000 1f00 0f18")
        bearer.expect("08 0400 0800 0228", answeredWith: "09 02 0400")
        bearer.expect("08 0500 0800 0228", answeredWith: "01 08 0500 0a")
        let found = GATTService.Inclusion(uuid: BluetoothUUID(0x180F), handle: 3, startHandle: 0x10, endHandle: 0x1F)
        bearer.expectFinished(.success(id, [found]))
    }

    @Test func `an error of security and a transient one fail it, one for good means that there is none`() {
        var bearer = Bearer()
        let refused = bearer.begin(DiscoverIncludedServices(in: 1...8))
        bearer.expect("08 0100 0800 0228", answeredWith: "01 08 0100 05")
        let none = bearer.begin(DiscoverIncludedServices(in: 1...8))
        bearer.expect("08 0100 0800 0228", answeredWith: "01 08 0100 06")
        let unreadable = bearer.begin(DiscoverIncludedServices(in: 1...8))
        bearer.expect("08 0100 0800 0228", answeredWith: "09 06 0200 2000 2f00")
        bearer.expect("0a 2000", answeredWith: "01 0a 2000 0f")
        let transient = bearer.begin(DiscoverIncludedServices(in: 1...8))
        bearer.expect("08 0100 0800 0228", answeredWith: "01 08 0100 0e")
        bearer.expectFinished(
            .failure(refused, .attribute(.insufficientAuthentication, handle: 1)),
            .success(none, [GATTService.Inclusion]()),
            .failure(unreadable, .attribute(.insufficientEncryption, handle: 0x20)),
            .failure(transient, .attribute(.unlikely, handle: 1))
        )
    }
}
