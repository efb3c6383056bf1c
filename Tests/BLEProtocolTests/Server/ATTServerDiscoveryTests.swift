import BLEProtocol
import Testing

@Suite struct ATTServerDiscoveryTests {
    @Test func `find information lists one width of types in each answer, as many as fit`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("04 0100 ffff") == ["05 01 0100 0028 0200 0328 0300 292a 0400 0328 0500 242a".packed])
        #expect(client.sends("04 0600 ffff") == ["05 01 0600 0328 0700 252a 0800 0028 0900 0328".packed])
        #expect(
            client.sends("04 0a00 ffff") == ["05 02 0a00 02000000000000000000000000 0000b0".packed]
        )
        #expect(client.sends("04 0d00 0d00") == ["05 01 0d00 0229".packed])
        #expect(client.sends("04 1500 ffff") == ["01 04 1500 0a".packed])
    }

    @Test func `find by type value compares whole values and tells where each group ends`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("06 0100 ffff 0028 0a18") == ["07 0100 0700".packed])
        #expect(
            client.sends("06 0100 ffff 0028 01000000000000000000000000 0000a0") == ["07 0800 1400".packed]
        )
        // The group's end is told even where it lies behind the range.
        #expect(client.sends("06 0100 0100 0028 0a18") == ["07 0100 0700".packed])
        #expect(client.sends("06 0100 ffff 0028 0a") == ["01 06 0100 0a".packed])
        #expect(client.sends("06 0200 ffff 0028 0a18") == ["01 06 0200 0a".packed])
        // An attribute that begins no group is its own end.
        #expect(client.sends("06 0100 ffff 292a 41636d65") == ["07 0300 0300".packed])
        #expect(client.sends("06 0100 ffff 0229 0000") == ["07 0d00 0d00 1000 1000".packed])
    }

    @Test func `find by type value does not reveal what the client may not read`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("06 0100 ffff 392a 09") == ["01 06 0100 0a".packed])
        #expect(client.sends("06 0100 ffff 3a2a") == ["01 06 0100 0a".packed])
        client.security = ATTSecurity(isEncrypted: true, isAuthenticated: true, keySize: 16)
        #expect(client.sends("06 0100 ffff 392a 09") == ["07 1200 1200".packed])
    }

    @Test func `read by group type lists services of one width in each answer`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("10 0100 ffff 0028") == ["11 06 0100 0700 0a18".packed])
        #expect(
            client.sends("10 0800 ffff 0028") == ["11 14 0800 1400 01000000000000000000000000 0000a0".packed]
        )
        #expect(client.sends("10 1500 ffff 0028") == ["01 10 1500 0a".packed])
        #expect(client.sends("10 0100 ffff 0128") == ["01 10 0100 0a".packed])
        // The same type, written with 128 bits.
        #expect(
            client.sends("10 0100 0700 fb349b5f8000 0080 0010 0000 00280000") == ["11 06 0100 0700 0a18".packed]
        )
    }

    @Test(arguments: ["0328", "0228", "292a", "0029"])
    func `read by group type knows services only`(type: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends("10 0100 ffff \(type)") == ["01 10 0100 10".packed])
    }

    @Test func `read by type lists declarations of one width, as many as fit`() {
        var client = ServedClient.ofSample()
        #expect(
            client.sends("08 0100 ffff 0328") == ["09 07 0200 02 0300 292a 0400 0a 0500 242a 0600 0e 0700 252a".packed]
        )
        #expect(
            client.sends("08 0a00 ffff 0328") == ["09 07 0b00 30 0c00 372a 0e00 20 0f00 382a 1100 0a 1200 392a".packed]
        )
        client.exchangesMTU(100)
        #expect(
            client.sends("08 0100 ffff 0328") == ["09 07 0200 02 0300 292a 0400 0a 0500 242a 0600 0e 0700 252a".packed]
        )
        #expect(
            client.sends("08 0700 ffff 0328") == ["09 15 0900 0e 0a00 02000000000000000000000000 0000b0".packed]
        )
        #expect(
            client.sends("08 0a00 ffff 0328")
                == ["09 07 0b00 30 0c00 372a 0e00 20 0f00 382a 1100 0a 1200 392a 1300 08 1400 3a2a".packed]
        )
        #expect(client.sends("08 1400 ffff 0328") == ["01 08 1400 0a".packed])
    }

    @Test func `read by type answers an error of the first attribute, and ends the list at that of a later one`() {
        let uuid = BluetoothUUID(0x2A56)
        var client = ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(uuid, [.read], value: .stored([1]))
                LocalCharacteristic(uuid, [.read], value: .stored([2]), access: .encrypted)
                LocalCharacteristic(uuid, [.write])
                LocalCharacteristic(uuid, [.read], value: .stored([4, 4]))
                LocalCharacteristic(uuid, [.read], value: .stored([5]))
            }
        ])
        #expect(client.sends("08 0100 ffff 562a") == ["09 03 0300 01".packed])
        #expect(client.sends("08 0400 ffff 562a") == ["01 08 0500 05".packed])
        #expect(client.sends("08 0600 ffff 562a") == ["01 08 0700 02".packed])
        #expect(client.sends("08 0800 ffff 562a") == ["09 04 0900 0404".packed])
        client.security = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        #expect(client.sends("08 0100 ffff 562a") == ["09 03 0300 01 0500 02".packed])
    }

    @Test func `read by type cuts values at 253 octets, the most that its length octet can tell`() {
        let value = [UInt8](repeating: 7, count: 300)
        var client = ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read], value: .stored(value))
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read], value: .stored(value))
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read], value: .stored(value))
            }
        ])
        #expect(client.sends("08 0100 ffff 562a") == ["0915 0300".packed + String(repeating: "07", count: 19)])
        client.exchangesMTU(517)
        let part = String(repeating: "07", count: 253)
        #expect(client.sends("08 0100 ffff 562a") == ["09ff 0300".packed + part + "0500" + part])
    }

    @Test func `read by group type cuts values at what fits`() {
        // No service has such a long value; the cap is a rule of the PDU all the same.
        let value = [UInt8](repeating: 7, count: 300)
        let attribute = Attribute(
            handle: 1,
            type: BluetoothUUID(0x2800),
            permissions: .readOnly,
            content: .constant(value),
            groupEnd: 4
        )
        var client = ServedClient(AttributeDatabase(attributes: [attribute], characteristics: []))
        #expect(client.sends("10 0100 ffff 0028") == ["1115 0100 0400".packed + String(repeating: "07", count: 17)])
        client.exchangesMTU(517)
        #expect(client.sends("10 0100 ffff 0028") == ["11ff 0100 0400".packed + String(repeating: "07", count: 251)])
    }

    @Test(arguments: ["04", "06", "08", "10"])
    func `a range that begins at 0 or ends before it begins is an invalid handle, the first one`(opcode: String) {
        var client = ServedClient.ofSample()
        let type = opcode == "04" ? "" : "0028"
        #expect(client.sends("\(opcode) 0000 ffff \(type)") == ["01\(opcode)0000 01".packed])
        #expect(client.sends("\(opcode) 0500 0400 \(type)") == ["01\(opcode)0500 01".packed])
        #expect(client.sends("\(opcode) 1500 ffff \(type)") == ["01\(opcode)1500 0a".packed])
    }
}

extension String {
    /// Hex without the blanks that are there for the reader.
    var packed: String { filter { $0 != " " } }
}
