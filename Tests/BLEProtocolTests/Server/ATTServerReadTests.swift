import BLEProtocol
import Testing

@Suite struct ATTServerReadTests {
    private static let long = [UInt8]((0..<512).map { UInt8(truncatingIfNeeded: $0) })

    private func server(of value: [UInt8]) -> ServedClient {
        ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read], value: .stored(value))
            }
        ])
    }

    @Test func `a read answers as much of the value as fits`() {
        var client = server(of: Self.long)
        #expect(client.sends("0a 0300") == ["0b" + WireText.text(0..<22)])
        client.exchangesMTU(517)
        #expect(client.sends("0a 0300") == ["0b" + WireText.text(Self.long)])
        var empty = server(of: [])
        #expect(empty.sends("0a 0300") == ["0b"])
    }

    @Test func `a blob begins at its offset; behind the end of the value is an invalid offset`() {
        var client = server(of: Self.long)
        #expect(client.sends("0c 0300 0000") == ["0d" + WireText.text(0..<22)])
        #expect(client.sends("0c 0300 1600") == ["0d" + WireText.text(22..<44)])
        #expect(client.sends("0c 0300 fe01") == ["0dfeff"])
        #expect(client.sends("0c 0300 0002") == ["0d"])
        #expect(client.sends("0c 0300 0102") == ["010c030007"])
        #expect(client.sends("0c 0300 ffff") == ["010c030007"])
    }

    @Test func `a value that changes while it is read in parts is read as it was, and then as it is`() {
        var client = server(of: Self.long)
        let changed = "0d" + String(repeating: "ee", count: 22)
        #expect(client.sends("0a 0300") == ["0b" + WireText.text(0..<22)])
        client.database.store([UInt8](repeating: 0xEE, count: 60), at: 3)
        #expect(client.sends("0c 0300 1600") == ["0d" + WireText.text(22..<44)])
        #expect(client.sends("0c 0300 2c00") == ["0d" + WireText.text(44..<66)])
        // A part that doesn't follow the last one is of the value as it is now.
        #expect(client.sends("0c 0300 0000") == [changed])
        #expect(client.sends("0c 0300 1600") == [changed])
        client.database.store([1], at: 3)
        #expect(client.sends("0c 0300 2c00") == ["0d" + String(repeating: "ee", count: 16)])
        #expect(client.sends("0c 0300 3c00") == ["010c030007"])
        #expect(client.sends("0a 0300") == ["0b01"])
    }

    @Test func `the rest of a value that was found by its type is of the value as it was then`() {
        var client = server(of: Array(0..<20))
        // An entry has room for 19 octets.
        #expect(client.sends("08 0100 ffff 562a") == ["0915 0300".packed + WireText.text(0..<19)])
        client.database.store([UInt8](repeating: 0xEE, count: 20), at: 3)
        #expect(client.sends("0c 0300 1300") == ["0d13"])
        #expect(client.sends("0c 0300 1300") == ["0dee"])
    }

    @Test func `two values are read in parts one beside the other`() {
        let uuid = BluetoothUUID(0x2A56)
        var client = ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(uuid, [.read], value: .stored(Self.long), id: "left")
                LocalCharacteristic(uuid, [.read], value: .stored(Self.long), id: "right")
            }
        ])
        client.exchangesMTU(517)
        let part = WireText.text(Self.long.prefix(253))
        #expect(client.sends("08 0100 ffff 562a") == ["09ff 0300".packed + part + "0500" + part])
        for handle in [3, 5] as [UInt16] { client.database.store([0xEE], at: handle) }
        #expect(client.sends("0c 0300 fd00") == ["0d" + WireText.text(Self.long.dropFirst(253))])
        #expect(client.sends("0c 0500 fd00") == ["0d" + WireText.text(Self.long.dropFirst(253))])
        #expect(client.sends("0a 0300") == ["0bee"])
        #expect(client.sends("0c 0500 fd00") == ["010c050007"])
    }

    @Test(arguments: ["12 0700 aa", "52 0700 aa", "16 0700 0000 aa"])
    func `who writes a value amid its reading reads on in the new one`(write: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends("0a 0700") == ["0b" + WireText.text(0..<22)])
        _ = client.sends(write)
        _ = client.sends("18 01")
        #expect(client.sends("0c 0700 1600") == ["010c070007"])
    }

    @Test func `a short value can be read as a blob too`() {
        var client = server(of: [1, 2])
        #expect(client.sends("0c 0300 0100") == ["0d02"])
        #expect(client.sends("0c 0300 0200") == ["0d"])
        #expect(client.sends("0c 0300 0300") == ["010c030007"])
    }

    @Test func `read multiple joins the values and cuts them silently`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("0e 0300 0500") == ["0f41636d6501020304"])
        #expect(client.sends("0e 0500 0700 0500") == ["0f01020304" + WireText.text(0..<18)])
        #expect(client.sends("0e 0300 0300 0300 0300 0300 0300") == ["0f41636d6541636d6541636d6541636d6541636d654163"])
    }

    @Test func `read multiple variable tells each length and never cuts one`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("20 0300 0500") == ["21 0400 41636d65 0400 01020304".packed])
        // The last value is cut, its length is not.
        #expect(client.sends("20 0300 0700") == ["21 0400 41636d65 1e00".packed + WireText.text(0..<14)])
        // 18 octets are taken, 4 are left: a length and 2 octets.
        #expect(
            client.sends("20 0300 0500 0500 0300") == [
                "21 0400 41636d65 0400 01020304 0400 01020304 0400 4163".packed
            ]
        )
    }

    @Test func `read multiple variable ends before a length that does not fit`() {
        func client(_ first: Int) -> ServedClient {
            ServedClient([
                LocalService(BluetoothUUID(0x1815)) {
                    LocalCharacteristic(
                        BluetoothUUID(0x2A56),
                        [.read],
                        value: .stored(Array(repeating: 7, count: first))
                    )
                    LocalCharacteristic(BluetoothUUID(0x2A57), [.read], value: .stored([1]))
                }
            ])
        }
        var two = client(18)
        #expect(two.sends("20 0300 0500") == ["211200" + String(repeating: "07", count: 18) + "0100"])
        var one = client(19)
        #expect(one.sends("20 0300 0500") == ["211300" + String(repeating: "07", count: 19)])
    }

    @Test(arguments: ["0e", "20"])
    func `read multiple answers the error of the first attribute that fails, also behind the end of the answer`(
        opcode: String
    ) {
        var client = ServedClient.ofSample()
        #expect(client.sends("\(opcode) 0300 1400 1200") == ["01\(opcode)140002"])
        #expect(client.sends("\(opcode) 0300 1200 1400") == ["01\(opcode)120005"])
        #expect(client.sends("\(opcode) 0300 ff00") == ["01\(opcode)ff0001"])
        #expect(client.sends("\(opcode) 0700 0700 0700 1400") == ["01\(opcode)140002"])
    }

    @Test(arguments: ["0e", "20"])
    func `read multiple doesn't go on where the client may not read any more`(opcode: String) {
        let asked = LocalService(BluetoothUUID(0xA000)) {  // 1
            LocalCharacteristic(BluetoothUUID(0xA001), [.read], value: .dynamic)  // 2, 3
        }
        let open = LocalService(BluetoothUUID(0xB000)) {  // 4
            LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([2]))  // 5, 6
        }
        // In the place of `open`, as where the handles have run out and all services were laid out again.
        let secret = LocalService(BluetoothUUID(0xC000)) {  // 4
            LocalCharacteristic(BluetoothUUID(0xC001), [.read], value: .stored([3]), access: .encrypted)  // 5, 6
        }
        for (services, error) in [([asked, secret], "05"), ([asked], "01")] {
            var client = ServedClient([asked, open])
            #expect(client.sends("\(opcode) 0300 0600").isEmpty)
            client.database = AttributeDatabase(services: services)
            #expect(client.programGives(.success([1])) == ["01\(opcode)0600\(error)"])
            #expect(client.output.reads.isEmpty)
        }
    }

    @Test func `each client reads its own configuration`() {
        var one = ServedClient.ofSample()
        let other = ServedClient.ofSample()
        #expect(one.sends("12 0d00 0100") == ["13"])
        #expect(one.sends("0a 0d00") == ["0b0100"])
        var second = other
        second.database = one.database
        #expect(second.sends("0a 0d00") == ["0b0000"])
    }
}
