import Testing

@testable import BLEProtocol

/// A caller that gives up is answered at once; the wire is left in order.
@Suite struct GATTClientCancellationTests {
    @Test func `a queued procedure leaves the queue`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        let second = bearer.begin(ReadValue(handle: 2))
        let third = bearer.begin(ReadValue(handle: 3))
        bearer.cancel(second)
        bearer.expectFinished(.failure(second, .cancelled))
        bearer.expect("0a0100", answeredWith: "0b01")
        bearer.expect("0a0300", answeredWith: "0b03")
        bearer.expectFinished(.success(first, [1] as [UInt8]), .success(third, [3] as [UInt8]))
    }

    @Test func `a request that was sent keeps its slot until it is answered`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        bearer.expectSends("0a0100")
        bearer.cancel(first)
        bearer.expectFinished(.failure(first, .cancelled))
        let second = bearer.begin(ReadValue(handle: 2))
        bearer.expectSends()
        bearer.receive("0b0101")
        bearer.expectNotes(0)
        bearer.expectFinished()
        bearer.expect("0a0200", answeredWith: "0b02")
        bearer.expectFinished(.success(second, [2] as [UInt8]))
    }

    @Test func `a cancelled request that is answered with Database Out Of Sync tells that`() {
        var bearer = Bearer()
        let read = bearer.begin(ReadValue(handle: 3))
        bearer.expectSends("0a0300")
        bearer.cancel(read)
        bearer.expectFinished(.failure(read, .cancelled))
        // It has ended, and ends only once.
        let output = bearer.client.received(pdu("010a030012"), at: Bearer.time)
        #expect(output.isOutOfSync && output.finished.isEmpty)
    }

    @Test func `a cancelled request that stays unanswered for 30 seconds closes the bearer`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        bearer.expectSends("0a0100")
        bearer.cancel(first)
        let second = bearer.begin(ReadValue(handle: 2))
        bearer.fire()
        let reason = DisconnectReason(.transactionTimeout)
        bearer.expectFinished(.failure(first, .cancelled), .failure(second, .disconnected(reason)))
        #expect(bearer.close == reason)
    }

    @Test func `a request that the radio refused is withdrawn, and the next one takes its place`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        _ = bearer.begin(ReadValue(handle: 2))
        #expect(bearer.client.nextPDU() == pdu("0a0100"))
        bearer.cancel(first)
        bearer.expectFinished(.failure(first, .cancelled))
        bearer.expectSends("0a0200")
    }

    @Test func `a write command that the radio refused is withdrawn`() {
        var bearer = Bearer()
        let first = bearer.begin(WriteCommand(handle: 1, value: [1]))
        let second = bearer.begin(WriteCommand(handle: 1, value: [2]))
        #expect(bearer.client.nextPDU() == pdu("52010001"))
        bearer.cancel(first)
        bearer.expectSends("52010002")
        bearer.expectFinished(.failure(first, .cancelled), .success(second))
    }

    @Test func `an id that has ended, or is cancelled twice, is ignored`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        bearer.expectSends("0a0100")
        bearer.cancel(first)
        bearer.cancel(first)
        bearer.expectFinished(.failure(first, .cancelled))
        bearer.receive("0b01")
        bearer.cancel(first)
        bearer.expectFinished()
    }

    @Test func `a long write that is cancelled has the server forget its parts, after the open one was answered`() {
        var bearer = Bearer()
        let write = bearer.begin(LongWrite(handle: 7, value: [UInt8](repeating: 0xAB, count: 30)))
        let read = bearer.begin(ReadValue(handle: 2))
        #expect(bearer.send().count == 1)
        bearer.cancel(write)
        bearer.expectFinished(.failure(write, .cancelled))
        bearer.expectSends()
        bearer.receive("1707000000" + String(repeating: "ab", count: 18))
        bearer.expect("1800", answeredWith: "19")
        bearer.expect("0a0200", answeredWith: "0b02")
        bearer.expectFinished(.success(read, [2] as [UInt8]))
    }

    @Test func `a long write that is cancelled between two parts is undone at once`() {
        var bearer = Bearer()
        let write = bearer.begin(LongWrite(handle: 7, value: [UInt8](repeating: 0xAB, count: 30)))
        #expect(bearer.send().count == 1)
        bearer.receive("1707000000" + String(repeating: "ab", count: 18))
        bearer.cancel(write)
        bearer.expectFinished(.failure(write, .cancelled))
        bearer.expect("1800", answeredWith: "0118000006")
        bearer.expectFinished()
        #expect(bearer.timer == nil)
    }

    @Test func `a long write that was never sent leaves nothing to undo`() {
        var bearer = Bearer()
        let write = bearer.begin(LongWrite(handle: 7, value: [1]))
        bearer.cancel(write)
        bearer.expectSends()
        bearer.expectFinished(.failure(write, .cancelled))
    }

    @Test func `an Execute Write that was sent can't be undone, one that was not is replaced`() {
        var bearer = Bearer()
        let first = bearer.begin(LongWrite(handle: 7, value: [1]))
        bearer.expect("160700000001", answeredWith: "170700000001")
        bearer.cancel(first)
        bearer.expect("1800", answeredWith: "19")

        let second = bearer.begin(LongWrite(handle: 7, value: [1]))
        bearer.expect("160700000001", answeredWith: "170700000001")
        bearer.expectSends("1801")
        bearer.cancel(second)
        bearer.receive("19")
        bearer.expectSends()
        bearer.expectFinished(.failure(first, .cancelled), .failure(second, .cancelled))
    }
}
