import Testing

@testable import BLEProtocol

@Suite struct GATTClientTests {
    typealias Output = GATTClient.Output

    private let time = ReceptionTime(sinceEpoch: .seconds(5), source: .kernel)

    @Test func `a request goes out, its timer starts when the radio took it, its answer ends it`() {
        var client = GATTClient(maximumMTU: 517)
        let (id, begun) = client.begin(ReadValue(handle: 3))
        #expect(begun == Output())
        #expect(client.nextPDU() == pdu("0a0300"))
        #expect(client.nextPDU() == pdu("0a0300"))

        var started = Output()
        let timer = GATTClient.TimerID(number: 1)
        started.timer = .start(timer, .seconds(30))
        #expect(client.sent() == started)
        #expect(client.nextPDU() == nil)

        var done = Output()
        done.finished = [.success(id, [1, 2, 3] as [UInt8])]
        done.timer = .stop(timer)
        #expect(client.received(pdu("0b010203"), at: time) == done)
        #expect(client.nextPDU() == nil)
    }

    @Test func `procedures run one at a time, in the order they were begun`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        let second = bearer.begin(ReadValue(handle: 2))
        #expect(first < second)
        bearer.expect("0a0100", answeredWith: "0b01")
        bearer.expectFinished(.success(first, [1] as [UInt8]))
        bearer.expect("0a0200", answeredWith: "010a020002")
        bearer.expectFinished(.failure(second, .attribute(.readNotPermitted, handle: 2)))
    }

    @Test func `a write command overtakes an open request, and is finished when the radio took it`() {
        var bearer = Bearer()
        let read = bearer.begin(ReadValue(handle: 1))
        bearer.expectSends("0a0100")
        let write = bearer.begin(WriteCommand(handle: 7, value: [1, 2, 3]))
        bearer.expectFinished()
        bearer.expectSends("520700010203")
        bearer.expectFinished(.success(write))
        bearer.receive("0b")
        bearer.expectFinished(.success(read, [] as [UInt8]))
    }

    @Test func `confirmations go before commands, commands before requests`() {
        var bearer = Bearer()
        _ = bearer.begin(ReadValue(handle: 1))
        _ = bearer.begin(WriteCommand(handle: 7, value: [1]))
        _ = bearer.begin(WriteCommand(handle: 7, value: [2]))
        bearer.receive("1d0800aa")
        bearer.expectSends("1e", "52070001", "52070002", "0a0100")
    }

    @Test func `a PDU that was given out stays the next one, whatever comes in between`() {
        var client = GATTClient(maximumMTU: 517)
        _ = client.begin(ReadValue(handle: 1))
        #expect(client.nextPDU() == pdu("0a0100"))
        _ = client.received(pdu("1d0800aa"), at: time)
        _ = client.begin(WriteCommand(handle: 7, value: [1]))
        #expect(client.nextPDU() == pdu("0a0100"))
        _ = client.sent()
        #expect(client.nextPDU() == pdu("1e"))
    }

    @Test func `a write command that does not fit ATT_MTU - 3 fails, and nothing is sent`() {
        var bearer = Bearer()
        let fits = bearer.begin(WriteCommand(handle: 7, value: [UInt8](repeating: 0, count: 20)))
        let tooLong = bearer.begin(WriteCommand(handle: 7, value: [UInt8](repeating: 0, count: 21)))
        bearer.expectFinished(.failure(tooLong, .valueTooLong(count: 21, maximum: 20)))
        #expect(bearer.send().count == 1)
        bearer.expectFinished(.success(fits))
    }

    @Test func `a new procedure on a link that ended fails with its reason`() {
        var bearer = Bearer()
        let open = bearer.begin(ReadValue(handle: 1))
        bearer.expectSends("0a0100")
        let queued = bearer.begin(ReadValue(handle: 2))
        let command = bearer.begin(WriteCommand(handle: 7, value: [1]))
        bearer.receive("1d0800aa")
        let reason = DisconnectReason(.supervisionTimeout, hciStatus: 8)
        bearer.end(reason)
        bearer.expectFinished(
            .failure(open, .disconnected(reason)),
            .failure(queued, .disconnected(reason)),
            .failure(command, .disconnected(reason))
        )
        #expect(bearer.timer == nil)
        bearer.expectSends()
        let late = bearer.begin(ReadValue(handle: 3))
        let lateCommand = bearer.begin(WriteCommand(handle: 7, value: [1]))
        bearer.expectFinished(.failure(late, .disconnected(reason)), .failure(lateCommand, .disconnected(reason)))
        bearer.expectSends()
        bearer.end(reason)
        bearer.expectFinished()
    }
}
