import Testing

@testable import BLEProtocol

@Suite struct DiscoverCharacteristicsTests {
    @Test func `characteristics of both widths are found, each ending before the next`() throws {
        let own: BluetoothUUID = "00000000-0000-0123-4567-89ABCDEF0085"
        var bearer = Bearer()
        let id = bearer.begin(DiscoverCharacteristics(in: 0x0010...0x0020))
        bearer.expect("08 1000 2000 0328", answeredWith: "09 07 1100 02 1200 252a")
        bearer.expect("08 1200 2000 0328", answeredWith: "09 15 1300 12 1400 8500efcdab8967452301000000000000")
        bearer.expect("08 1400 2000 0328", answeredWith: "01 08 1200 0a")
        let found = [
            Characteristic(
                uuid: BluetoothUUID(0x2A25),
                properties: .read,
                handle: 0x11,
                valueHandle: 0x12,
                endHandle: 0x12
            ),
            Characteristic(
                uuid: own,
                properties: [.read, .notify],
                handle: 0x13,
                valueHandle: 0x14,
                endHandle: 0x20
            ),
        ]
        bearer.expectFinished(.success(id, found))
    }

    @Test func `a value that is not behind its declaration, or behind the next one, leaves the characteristic out`() {
        var bearer = Bearer(mtu: 100)
        let id = bearer.begin(DiscoverCharacteristics(in: 0x0010...0x0020))
        let list = "1100 02 1100 002a  1200 02 0000 012a  1300 02 1900 022a  1500 02 2100 032a  1600 02 1700 042a"
        bearer.expect("08 1000 2000 0328", answeredWith: "09 07" + list)
        bearer.expect("08 1700 2000 0328", answeredWith: "01 08 1700 0a")
        let kept = Characteristic(
            uuid: BluetoothUUID(0x2A04),
            properties: .read,
            handle: 0x16,
            valueHandle: 0x17,
            endHandle: 0x20
        )
        bearer.expectFinished(.success(id, [kept]))
    }

    @Test func `handles that do not ascend are taken once, and end the list where they lead nowhere`() {
        var bearer = Bearer(mtu: 100)
        let id = bearer.begin(DiscoverCharacteristics(in: 0x0010...0x0020))
        bearer.expect(
            "08 1000 2000 0328",
            answeredWith: "09 07 1300 02 1400 002a 1300 02 1400 002a 1100 02 1200 002a ffff 02 0000 002a"
        )
        bearer.expectSends()
        let kept = Characteristic(
            uuid: BluetoothUUID(0x2A00),
            properties: .read,
            handle: 0x13,
            valueHandle: 0x14,
            endHandle: 0x20
        )
        bearer.expectFinished(.success(id, [kept]))
    }

    @Test func `a declaration of another length is malformed`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverCharacteristics(in: 1...0xFFFF))
        bearer.expect("08 0100 ffff 0328", answeredWith: "09 08 1100 02 1200 252a00")
        let error = ATTDecodingError(opcode: .readByTypeResponse, offset: 1, reason: .invalidEntryLength)
        bearer.expectFinished(.failure(id, .malformedResponse(error)))
    }

    @Test func `descriptors are found up to the end of the range`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverDescriptors(in: [0x0013...0x0016]))
        bearer.expect("04 1300 1600", answeredWith: "05 01 1300 0229 1400 0329")
        bearer.expect("04 1500 1600", answeredWith: "05 01 1500 0429 1600 0529")
        bearer.expectSends()
        let found = ((0 as UInt16)...3).map { Descriptor(uuid: BluetoothUUID(0x2902 + $0), handle: 0x13 + $0) }
        bearer.expectFinished(.success(id, found))
    }

    @Test func `one answer serves several ranges, and what lies between them is skipped`() {
        var bearer = Bearer(mtu: 100)
        let id = bearer.begin(DiscoverDescriptors(in: [0x04...0x05, 0x09...0x0A, 0x20...0x20, 0xFFFF...0xFFFF]))
        bearer.expect(
            "04 0400 ffff",
            answeredWith: "05 01 0400 0229 0500 0129 0600 0328 0700 002a 0900 0229 0a00 0028 0b00 0328"
        )
        bearer.expect("04 2000 ffff", answeredWith: "05 02 2000 000102030405060708090a0b0c0d0e0f")
        bearer.expect("04 ffff ffff", answeredWith: "01 04 ffff 0a")
        let own = BluetoothUUID(littleEndian: [UInt8](0...15))
        #expect(own != nil)
        let found = [
            Descriptor(uuid: BluetoothUUID(0x2902), handle: 4), Descriptor(uuid: BluetoothUUID(0x2901), handle: 5),
            Descriptor(uuid: BluetoothUUID(0x2902), handle: 9), Descriptor(uuid: own ?? BluetoothUUID(0), handle: 0x20),
        ]
        bearer.expectFinished(.success(id, found))
    }

    @Test func `no ranges need no request; a peer that can't tell has none`() {
        var bearer = Bearer()
        let nothing = bearer.begin(DiscoverDescriptors(in: []))
        bearer.expectSends()
        let none = bearer.begin(DiscoverDescriptors(in: [4...4]))
        bearer.expect("04 0400 0400", answeredWith: "01 04 0400 06")
        bearer.expectFinished(.success(nothing, [Descriptor]()), .success(none, [Descriptor]()))
    }

    @Test(arguments: ["05", "08", "0c", "0e", "0f", "11", "12", "13", "80", "fe"])
    func `a descriptor walk that meets an error that may pass doesn't count as finished`(code: String) {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverDescriptors(in: [4...9]))
        bearer.expect("04 0400 0900", answeredWith: "05 01 0400 0229")
        bearer.expect("04 0500 0900", answeredWith: "01 04 0500" + code)
        let error = ATTError(rawValue: UInt8(code, radix: 16) ?? 0)
        bearer.expectFinished(.failure(id, .attribute(error, handle: 5)))
    }
}
