import BLEProtocol
import Testing

@Suite struct ATTServerWriteTests {
    @Test func `a write replaces a value of variable length and is reported`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("12 0700 aabb") == ["13"])
        #expect(client.database.value(at: 7) == [0xAA, 0xBB])
        #expect(client.output.writes == [.init(handle: 7, offset: 0, value: [0xAA, 0xBB], answer: .stored)])
        #expect(client.sends("0a 0700") == ["0baabb"])
        #expect(client.sends("12 0700") == ["13"])
        #expect(client.database.value(at: 7) == [])
    }

    @Test func `a write to a value of fixed length changes the leading octets`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("12 0500 aabb") == ["13"])
        #expect(client.database.value(at: 5) == [0xAA, 0xBB, 3, 4])
        #expect(client.output.writes == [.init(handle: 5, offset: 0, value: [0xAA, 0xBB, 3, 4], answer: .stored)])
        #expect(client.sends("12 0500") == ["13"])
        #expect(client.database.value(at: 5) == [0xAA, 0xBB, 3, 4])
    }

    @Test func `a value that is too long is refused and changes nothing`() {
        var client = ServedClient.ofSample()
        client.exchangesMTU(517)
        #expect(client.sends("12 0500 0102030405") == ["011205000d"])
        #expect(client.sends("12 0700 " + String(repeating: "00", count: 41)) == ["011207000d"])
        #expect(client.sends("12 0a00 " + String(repeating: "00", count: 101)) == ["01120a000d"])
        #expect(client.sends("12 1400 " + String(repeating: "00", count: 512)) == ["13"])
        #expect(client.sends("12 1400 " + String(repeating: "00", count: 513)) == ["011214000d"])
        #expect(client.database.value(at: 7) == Array(0..<30))
        #expect(client.output.writes.isEmpty)
    }

    @Test func `more than 512 octets are refused before anything else about the attribute`() {
        var client = ServedClient.ofSample()
        client.exchangesMTU(517)
        let tooLong = String(repeating: "00", count: 513)
        #expect(client.sends("12 0300 00") == ["0112030003"])
        #expect(client.sends("12 0300 " + tooLong) == ["011203000d"])
        #expect(client.sends("12 ff00 " + tooLong) == ["0112ff0001"])
    }

    @Test func `a write command does the same and is never answered`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("52 0700 aabb").isEmpty)
        #expect(client.output.writes == [.init(handle: 7, offset: 0, value: [0xAA, 0xBB], answer: .stored)])
        #expect(client.database.value(at: 7) == [0xAA, 0xBB])
        #expect(client.sends("52 0d00 0100").isEmpty)
        #expect(client.output.subscriptionChanges == [.init(characteristic: 12, subscription: .notify)])
    }

    @Test(
        arguments: [
            "52", "52 07", "52 0000 00", "52 ff00 00", "52 0300 00", "52 1200 00", "52 0500 0102030405", "52 0d00 00",
            "52 0700 000000000000000000000000000000000000000000", "d2 0700 00 000000000000000000000000", "ff00", "41",
            "c0",
        ]
    )
    func `a command that can't be obeyed changes nothing and is not answered`(pdu: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends(pdu).isEmpty)
        #expect(client.output.notes.count == 1)
        #expect(client.output.writes.isEmpty)
        #expect(client.output.subscriptionChanges.isEmpty)
        #expect(client.output.close == nil)
        #expect(client.database.value(at: 7) == Array(0..<30))
        #expect(client.sends("0a 0300") == ["0b41636d65"])
    }

    @Test func `what one client writes the next one reads`() {
        var one = ServedClient.ofSample()
        _ = one.sends("12 0700 55")
        var other = ServedClient(one.database)
        #expect(other.sends("0a 0700") == ["0b55"])
    }

    @Test func `a signed write is lost, and told where the characteristic offers that`() {
        var client = ServedClient([
            LocalService(BluetoothUUID(0xA000)) {  // 1
                LocalCharacteristic(  // 2, 3
                    BluetoothUUID(0xA001),
                    [.write, .authenticatedSignedWrites],
                    value: .stored([1])
                )
                LocalCharacteristic(BluetoothUUID(0xA002), [.write], value: .stored([2]))  // 4, 5
            }
        ])
        let signature = String(repeating: "00", count: 12)
        #expect(client.sends("d2 0300 07" + signature) == [])
        #expect(client.database.value(at: 3) == [1])
        #expect(client.output.lostWrites.map(\.handle) == [3])
        #expect(client.output.lostWrites.map(\.error) == [.requestNotSupported])
        for other in ["d2 0500 07" + signature, "d2 0300 07", "d2 0200 07" + signature] {
            #expect(client.sends(other) == [])
            #expect(client.output.lostWrites.isEmpty)
        }
    }
}
