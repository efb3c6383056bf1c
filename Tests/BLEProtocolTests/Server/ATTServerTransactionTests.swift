import BLEProtocol
import Testing

@Suite struct ATTServerTransactionTests {
    // MARK: Exchange MTU

    @Test func `the smaller MTU holds once the response is sent`() {
        var client = ServedClient.ofSample(maximumMTU: 100)
        #expect(client.server.mtu == 23)
        let output = client.server.received([2, 0x05, 0x02], security: .none, database: &client.database)
        #expect(output.mtu == nil)
        #expect(client.server.nextPDU() == [3, 100, 0])
        #expect(client.server.mtu == 23)
        #expect(client.server.sent().mtu == 100)
        #expect(client.server.mtu == 100)
        #expect(client.sends("0a 0700") == ["0b" + WireText.text(0..<30)])
    }

    @Test(arguments: [("0000", 23), ("1600", 23), ("1700", 23), ("1800", 24), ("0502", 517), ("ffff", 517)])
    func `an MTU below 23 counts as 23, and none is an error`(offer: String, agreed: Int) {
        var client = ServedClient.ofSample()
        #expect(client.sends("02" + offer) == ["030502"])
        #expect(client.server.mtu == agreed)
        #expect(client.output.mtu == agreed)
    }

    @Test func `a second exchange is answered anew`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("02 6400") == ["030502"])
        #expect(client.sends("02 3200") == ["030502"])
        #expect(client.server.mtu == 50)
        #expect(client.output.close == nil)
    }

    @Test func `an MTU that the client half agreed on holds, within what this device takes`() {
        var client = ServedClient.ofSample(maximumMTU: 100)
        client.server.setMTU(50)
        #expect(client.server.mtu == 50)
        client.server.setMTU(1000)
        #expect(client.server.mtu == 100)
        client.server.setMTU(0)
        #expect(client.server.mtu == 23)
    }

    @Test func `a request that crosses an exchange is answered with the MTU from before`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("0a 0a00").isEmpty)
        client.server.setMTU(100)
        let value = [UInt8](repeating: 7, count: 50)
        let answer = client.programGives(.success(value))
        #expect(answer == ["0b" + String(repeating: "07", count: 22)])
    }

    // MARK: Values that the program gives

    @Test func `the program is asked for its value and gives the whole of it`() {
        var client = ServedClient.ofSample()
        let value = [UInt8](0..<50)
        #expect(client.sends("0a 0a00").isEmpty)
        #expect(client.output.reads.map(\.handle) == [10])
        #expect(client.output.reads.map(\.offset) == [0])
        #expect(
            client.programGives(.success(value))
                == ["0b" + WireText.text(0..<22)]
        )
        #expect(client.sends("0c 0a00 2c00").isEmpty)
        #expect(client.output.reads.map(\.offset) == [44])
        #expect(
            client.programGives(.success(value))
                == ["0d" + WireText.text(44..<50)]
        )
        #expect(client.sends("0c 0a00 3300").isEmpty)
        #expect(client.programGives(.success(value)) == ["010c0a0007"])
    }

    @Test func `the program's error is told with the handle`() {
        var client = ServedClient.ofSample()
        _ = client.sends("0a 0a00")
        let read = client.output.reads.first?.token
        #expect(client.program(answers: read, with: .failure(ATTError(rawValue: 0x80))) == ["010a0a0080"])
        _ = client.sends("12 0a00 01")
        #expect(client.programTakes(.failure(.valueNotAllowed)) == ["01120a0013"])
        // Also where the attribute is not to blame: the client knows then which of its requests it was.
        _ = client.sends("0a 0a00")
        #expect(client.programGives(.failure(.unlikely)) == ["010a0a000e"])
    }

    @Test func `the program is asked to take a write, or told of a command`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("12 0a00 0102").isEmpty)
        #expect(client.output.writes.map(\.value) == [[1, 2]])
        #expect(client.programTakes(.success([])) == ["13"])
        #expect(client.sends("52 0a00 0304").isEmpty)
        #expect(client.output.writes == [.init(handle: 10, offset: 0, value: [3, 4], answer: .none)])
    }

    @Test func `read by type asks for a first value alone, and ends the list before a later one`() {
        let uuid = BluetoothUUID(0x2A56)
        var client = ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(uuid, [.read], value: .stored([1]))
                LocalCharacteristic(uuid, [.read], value: .dynamic)
                LocalCharacteristic(uuid, [.read], value: .stored([3]))
            }
        ])
        #expect(client.sends("08 0100 ffff 562a") == ["0903030001"])
        #expect(client.sends("08 0400 ffff 562a").isEmpty)
        #expect(client.output.reads.map(\.handle) == [5])
        #expect(client.programGives(.success([2])) == ["0903050002"])
        #expect(client.sends("08 0600 ffff 562a") == ["0903070003"])
    }

    @Test func `read multiple asks for one value after the other`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("20 0a00 0300 0a00 0500").isEmpty)
        #expect(client.output.reads.map(\.handle) == [10])
        #expect(client.programGives(.success([7])).isEmpty)
        #expect(client.output.reads.map(\.handle) == [10])
        #expect(
            client.programGives(.success([8, 8]))
                == ["21 0100 07 0400 41636d65 0200 0808 0400 01020304".packed]
        )
        // What would not fit is not asked for.
        #expect(client.sends("0e 0700 0a00") == ["0f" + WireText.text(0..<22)])
        #expect(client.output.reads.isEmpty)
        #expect(client.sends("0e 0300 0a00").isEmpty)
        #expect(client.programGives(.failure(.unlikely)) == ["010e0a000e"])
    }

    @Test func `no more than 512 octets of the program's value are told`() {
        var client = ServedClient.ofSample()
        client.exchangesMTU(517)
        _ = client.sends("0a 0a00")
        let answer = client.programGives(
            .success(Array(repeating: 7, count: 600))
        )
        #expect(answer == ["0b" + String(repeating: "07", count: 512)])
    }

    @Test func `an answer that comes twice is ignored`() {
        var client = ServedClient.ofSample()
        _ = client.sends("0a 0a00")
        let token = client.output.reads.first?.token
        #expect(client.program(answers: token, with: .success([1])) == ["0b01"])
        #expect(client.program(answers: token, with: .success([2])).isEmpty)
        #expect(client.output.notes.count == 1)
        _ = client.sends("0a 0a00")
        let next = client.output.reads.first?.token
        #expect(client.program(answers: token, with: .success([3])).isEmpty)
        #expect(client.program(answers: next, with: .success([4])) == ["0b04"])
    }

    // MARK: Requests before their turn

    @Test func `requests that come too early are answered in order, commands at once`() {
        var client = ServedClient.ofSample()
        _ = client.sends("0a 0a00")
        let token = client.output.reads.first?.token
        #expect(client.sends("0a 0300").isEmpty)
        #expect(client.sends("52 0700 55").isEmpty)
        #expect(client.output.writes.map(\.handle) == [7])
        #expect(client.sends("0a 0a00").isEmpty)
        #expect(client.output.reads.isEmpty)
        #expect(client.program(answers: token, with: .success([1])) == ["0b01", "0b41636d65"])
        #expect(client.output.reads.map(\.handle) == [10])
        #expect(client.programGives(.success([2])) == ["0b02"])
    }

    @Test func `too many requests before the first answer close the bearer`() {
        var client = ServedClient.ofSample()
        _ = client.sends("0a 0a00")
        let token = client.output.reads.first?.token
        for _ in 0..<3 { #expect(client.sends("0a 0300").isEmpty) }
        #expect(client.output.close == nil)
        #expect(client.sends("0a 0300").isEmpty)
        #expect(client.output.close == DisconnectReason(.protocolViolation))
        #expect(client.output.cancelled.first == token)
        #expect(client.program(answers: token, with: .success([1])).isEmpty)
    }

    @Test func `responses that the link does not take are bounded in the same way`() {
        var client = ServedClient.ofSample()
        for number in 1...5 {
            let output = client.server.received([0x0A, 3, 0], security: .none, database: &client.database)
            #expect((output.close != nil) == (number == 5))
        }
        #expect(client.server.nextPDU() == nil)
    }

    @Test func `a request waits with the security that held when it came`() {
        var client = ServedClient.ofSample()
        _ = client.sends("0a 0a00")
        let token = client.output.reads.first?.token
        _ = client.sends("0a 1200")
        client.server.setSecurity(ATTSecurity(isEncrypted: true, isAuthenticated: true, keySize: 16))
        #expect(client.program(answers: token, with: .success([1])) == ["0b01", "010a120005"])
    }
}
