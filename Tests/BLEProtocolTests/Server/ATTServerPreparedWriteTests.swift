import BLEProtocol
import Testing

@Suite struct ATTServerPreparedWriteTests {
    @Test func `a long write replaces a value of variable length once it is executed`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("16 0700 0000 aaaaaaaa") == ["17 0700 0000 aaaaaaaa".packed])
        #expect(client.sends("16 0700 0400 bbbb") == ["17 0700 0400 bbbb".packed])
        // Nothing sees it before.
        #expect(client.sends("0c 0700 1d00") == ["0d1d"])
        #expect(client.output.writes.isEmpty)
        #expect(client.sends("18 01") == ["19"])
        let value: [UInt8] = [0xAA, 0xAA, 0xAA, 0xAA, 0xBB, 0xBB]
        #expect(client.database.value(at: 7) == value)
        #expect(client.output.writes == [.init(handle: 7, offset: 0, value: value, answer: .stored)])
    }

    @Test func `writes that do not give the whole value lie over it, in order`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0200 aaaa")
        _ = client.sends("16 0700 1c00 bbbbbb")
        _ = client.sends("16 0700 0300 cc")
        #expect(client.sends("18 01") == ["19"])
        let value: [UInt8] = [0, 1, 0xAA, 0xCC] + Array(4..<28) + [0xBB, 0xBB, 0xBB]
        #expect(client.database.value(at: 7) == value)
    }

    @Test func `a long write to a value of fixed length changes octets in place`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0500 0100 aabb")
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 5) == [1, 0xAA, 0xBB, 4])
    }

    @Test func `a reliable write of several values does all of them`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0000 0102")
        _ = client.sends("16 0500 0000 0a0b")
        _ = client.sends("16 0700 0200 03")
        _ = client.sends("16 0500 0200 0c0d")
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 7) == [1, 2, 3])
        #expect(client.database.value(at: 5) == [10, 11, 12, 13])
        // Told in the order in which they were received, each with the value as it was then.
        #expect(client.output.writes.map(\.handle) == [7, 5, 7, 5])
        #expect(client.output.writes.map(\.value) == [[1, 2], [10, 11, 3, 4], [1, 2, 3], [10, 11, 12, 13]])
    }

    @Test func `cancelling forgets the queue`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0000 0102")
        #expect(client.sends("18 00") == ["19"])
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 7) == Array(0..<30))
        #expect(client.output.writes.isEmpty)
    }

    @Test func `executing an empty queue succeeds`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("18 01") == ["19"])
        #expect(client.sends("18 00") == ["19"])
    }

    @Test func `undefined flags are an invalid PDU and clear the queue`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0000 0102")
        #expect(client.sends("18 02") == ["0118000004"])
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 7) == Array(0..<30))
    }

    @Test func `offset and length are judged when executing, and a failure changes nothing and clears the queue`() {
        for (failing, error) in [
            ("16 0700 2000 aa", "0118070007"), ("16 0700 1b00 \(String(repeating: "aa", count: 14))", "011807000d"),
        ] {
            var client = ServedClient.ofSample()
            _ = client.sends("16 0500 0000 aa")
            #expect(client.sends(failing) == ["17" + failing.packed.dropFirst(2)])
            #expect(client.sends("18 01") == [error])
            #expect(client.database.value(at: 5) == [1, 2, 3, 4])
            #expect(client.database.value(at: 7) == Array(0..<30))
            #expect(client.output.writes.isEmpty)
            #expect(client.sends("18 01") == ["19"])
            #expect(client.database.value(at: 5) == [1, 2, 3, 4])
        }
    }

    @Test func `an offset may reach what an earlier write of the queue made`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("12 0700") == ["13"])
        _ = client.sends("16 0700 0000 0102")
        _ = client.sends("16 0700 0200 03")
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 7) == [1, 2, 3])
        _ = client.sends("16 0700 0400 05")
        #expect(client.sends("18 01") == ["0118070007"])
    }

    @Test func `the error names the first write of the queue that fails`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0000 01")
        _ = client.sends("16 0500 0500 01")
        _ = client.sends("16 0700 2000 01")
        #expect(client.sends("18 01") == ["0118050007"])
    }

    @Test func `a refused write leaves the queue as it is`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0000 01")
        #expect(client.sends("16 0300 0000 01") == ["0116030003"])
        #expect(client.sends("16 1200 0000 01") == ["0116120005"])
        #expect(client.sends("16 ff00 0000 01") == ["0116ff0001"])
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 7) == [1])
    }

    @Test func `the queue is bounded in writes and in octets`() {
        var limits = ATTServer.Limits()
        limits.preparedWrites = 3
        limits.preparedOctets = 5
        var many = ServedClient.ofSample(limits: limits)
        for _ in 0..<3 { #expect(many.sends("16 0700 0000") == ["1707000000"]) }
        #expect(many.sends("16 0700 0000") == ["0116070009"])
        var long = ServedClient.ofSample(limits: limits)
        #expect(long.sends("16 0700 0000 01020304") == ["17 0700 0000 01020304".packed])
        #expect(long.sends("16 0700 0400 0506") == ["0116070009"])
        #expect(long.sends("16 0700 0400 05") == ["17 0700 0400 05".packed])
        #expect(long.sends("18 01") == ["19"])
        #expect(long.database.value(at: 7) == [1, 2, 3, 4, 5])
        #expect(long.sends("16 0700 0000 01") == ["17 0700 0000 01".packed])
    }

    @Test func `512 octets can be written at the smallest MTU`() {
        var client = ServedClient.ofSample()
        for start in stride(from: 0, to: 512, by: 18) {
            let part = WireText.text((start..<min(start + 18, 512)).map { UInt8(truncatingIfNeeded: $0) })
            let offset = WireText.text([UInt8(truncatingIfNeeded: start), UInt8(start >> 8)])
            #expect(client.sends("161400" + offset + part) == ["171400" + offset + part])
        }
        #expect(client.sends("18 01") == ["19"])
        #expect(client.database.value(at: 20) == (0..<512).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test func `a configuration is checked when executing`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0d00 0000 0200")
        #expect(client.output.subscriptionChanges.isEmpty)
        #expect(client.sends("18 01") == ["19"])
        #expect(client.output.subscriptionChanges == [.init(characteristic: 12, subscription: .indicate)])
        _ = client.sends("16 0d00 0000 020000")
        #expect(client.sends("18 01") == ["01180d000d"])
        client.security = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        // The sample at 0x10 can only indicate; the write before it is not done either.
        _ = client.sends("16 0700 0000 01")
        _ = client.sends("16 1000 0000 0100")
        #expect(client.sends("18 01") == ["0118100013"])
        #expect(client.database.value(at: 7) == Array(0..<30))
    }

    @Test func `the program is asked for a long write of its value once, with the whole`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0a00 0000 0102")
        _ = client.sends("16 0a00 0200 03")
        _ = client.sends("16 0700 0000 aa")
        #expect(client.sends("18 01").isEmpty)
        #expect(client.output.writes.map(\.handle) == [10])
        #expect(client.output.writes.map(\.offset) == [0])
        #expect(client.output.writes.map(\.value) == [[1, 2, 3]])
        #expect(client.database.value(at: 7) == Array(0..<30))
        #expect(client.programTakes(.success([])) == ["19"])
        #expect(client.output.writes == [.init(handle: 7, offset: 0, value: [0xAA], answer: .stored)])
        #expect(client.database.value(at: 7) == [0xAA])
    }

    @Test func `parts of the program's value are asked for one by one, and its error ends the execution`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0a00 0400 01")
        _ = client.sends("16 0a00 0900 02")
        _ = client.sends("16 0700 0000 aa")
        #expect(client.sends("18 01").isEmpty)
        #expect(client.output.writes.map(\.offset) == [4])
        #expect(client.programTakes(.success([])).isEmpty)
        #expect(client.output.writes.map(\.offset) == [9])
        #expect(client.programTakes(.failure(.invalidOffset)) == ["01180a0007"])
        #expect(client.output.writes.isEmpty)
        #expect(client.database.value(at: 7) == Array(0..<30))
        _ = client.sends("16 0a00 6400 01")
        #expect(client.sends("18 01") == ["01180a000d"])
    }

    @Test func `the program is asked in the order in which the parts of its value came among others`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0a00 0000 0102")
        _ = client.sends("16 0700 0000 aa")
        _ = client.sends("16 0a00 0200 03")
        #expect(client.sends("18 01").isEmpty)
        #expect(client.output.writes.map(\.handle) == [10] && client.output.writes.map(\.value) == [[1, 2]])
        #expect(client.programTakes(.success([])).isEmpty)
        #expect(client.output.writes.map(\.handle) == [7, 10])
        #expect(client.output.writes.map(\.offset) == [0, 2] && client.output.writes.map(\.value) == [[0xAA], [3]])
        #expect(client.programTakes(.success([])) == ["19"])
    }

    // MARK: - When the services have changed

    private static let asked = LocalService(BluetoothUUID(0xA000)) {  // 1
        LocalCharacteristic(BluetoothUUID(0xA001), [.write], value: .dynamic)  // 2, 3
    }
    private static let writable = LocalService(BluetoothUUID(0xB000)) {  // 4
        LocalCharacteristic(BluetoothUUID(0xB001), [.write], value: .stored([2]))  // 5, 6
    }
    /// In the place of `writable`, as where the handles have run out and all services were laid out again.
    private static let readable = LocalService(BluetoothUUID(0xC000)) {  // 4
        LocalCharacteristic(BluetoothUUID(0xC001), [.read], value: .stored([3]))  // 5, 6
    }

    @Test func `a prepared write is not executed where the client may not write any more`() {
        var client = ServedClient([Self.asked, Self.writable])
        #expect(client.sends("16 0600 0000 07") == ["17 0600 0000 07".packed])
        client.database = AttributeDatabase(services: [Self.asked, Self.readable])
        #expect(client.sends("18 01") == ["0118060003"])
        #expect(client.database.value(at: 6) == [3])
        #expect(client.output.writes.isEmpty)
    }

    @Test func `an execution doesn't go on where the client may not write any more`() {
        var client = ServedClient([Self.asked, Self.writable])
        _ = client.sends("16 0300 0000 01")
        _ = client.sends("16 0600 0000 07")
        #expect(client.sends("18 01").isEmpty)
        client.database = AttributeDatabase(services: [Self.asked, Self.readable])
        #expect(client.programTakes(.success([])) == ["0118060003"])
        #expect(client.database.value(at: 6) == [3])
        #expect(client.output.writes.isEmpty)
    }

    @Test func `an offset behind the longest value is told when executing, whoever has the value`() {
        // Of 10 the program has the value, which never has more than 100 octets; 5 has always 4; 13 is a configuration.
        for (handle, offset) in [("0a00", "6500"), ("0a00", "ffff"), ("0500", "0500"), ("0d00", "0300")] {
            var client = ServedClient.ofSample()
            #expect(client.sends("16 \(handle) \(offset) 01") == ["17\(handle)\(offset)01"])
            #expect(client.sends("18 01") == ["0118\(handle)07"])
        }
        // At the end of the longest value there is room for nothing, which is another matter.
        var client = ServedClient.ofSample()
        _ = client.sends("16 0a00 6400 01")
        #expect(client.sends("18 01") == ["01180a000d"])
    }

    @Test func `the queue is forgotten when the bearer ends`() {
        var client = ServedClient.ofSample()
        _ = client.sends("16 0700 0000 01")
        _ = client.server.ended()
        var other = ServedClient.ofSample()
        #expect(client.server.client != other.server.client)
        _ = other.sends("02 1700")
        #expect(client.server.client == other.server.client)
    }
}
