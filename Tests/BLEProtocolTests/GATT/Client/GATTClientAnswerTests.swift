import Testing

@testable import BLEProtocol

/// What a peer answers that it should not, or too late.
@Suite struct GATTClientAnswerTests {
    @Test func `an answer without an open request is ignored, and noted`() {
        var bearer = Bearer()
        bearer.receive("0b010203")
        bearer.receive("010a030002")
        bearer.expectNotes(2)
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.receive("0b010203")
        bearer.expectNotes(1)
        bearer.expect("0a0300", answeredWith: "0b04")
        bearer.expectFinished(.success(id, [4] as [UInt8]))
    }

    @Test func `an answer with another opcode ends the request, and the bearer goes on`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "13")
        bearer.expectFinished(.failure(id, .wrongResponse(expected: .readResponse, received: .writeResponse)))
        #expect(bearer.close == nil)
        let next = bearer.begin(ReadValue(handle: 4))
        bearer.expect("0a0400", answeredWith: "0b04")
        bearer.expectFinished(.success(next, [4] as [UInt8]))
    }

    @Test func `an error for something else than the open request does not end it`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expectSends("0a0300")
        bearer.receive("0152070003")
        bearer.receive("011b030006")
        bearer.expectNotes(2)
        bearer.expectFinished()
        bearer.receive("0b01")
        bearer.expectFinished(.success(id, [1] as [UInt8]))
    }

    @Test func `the handle of an error response is told and never matched`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "010a777708")
        bearer.expectFinished(.failure(id, .attribute(.insufficientAuthorization, handle: 0x7777)))
    }

    @Test func `an unknown error code survives`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "010a0300c7")
        bearer.expectFinished(.failure(id, .attribute(ATTError(rawValue: 0xC7), handle: 3)))
    }

    @Test(arguments: [
        ("01", 1, ATTDecodingError.Reason.truncated), ("010a", 2, .truncated), ("010a0300", 4, .truncated),
        ("010a03000200", 5, .trailingOctets),
    ])
    func `a malformed error response ends the request`(
        answer: String,
        offset: Int,
        reason: ATTDecodingError.Reason
    ) {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: answer)
        let error = ATTDecodingError(opcode: .errorResponse, offset: offset, reason: reason)
        bearer.expectFinished(.failure(id, .malformedResponse(error)))
    }

    @Test func `requests, commands, confirmations and unknown opcodes are not for the client half`() {
        var bearer = Bearer()
        for text in ["0a0300", "52070001", "1e", "3f", "", "ff"] { bearer.receive(text) }
        bearer.expectNotes(6)
        bearer.expectFinished()
        bearer.expectSends()
    }

    @Test func `30 seconds without an answer fail the request, then the queue, and close the bearer`() {
        var bearer = Bearer()
        let open = bearer.begin(ReadValue(handle: 3))
        bearer.expectSends("0a0300")
        let queued = bearer.begin(ReadValue(handle: 4))
        bearer.receive("1d0800aa")
        bearer.fire()
        let reason = DisconnectReason(.transactionTimeout)
        #expect(bearer.close == reason)
        bearer.expectFinished(.failure(open, .timedOut), .failure(queued, .disconnected(reason)))
        bearer.expectSends()

        bearer.receive("0b01")
        bearer.expectNotes(1)
        bearer.expectFinished()
        let late = bearer.begin(ReadValue(handle: 5))
        bearer.expectFinished(.failure(late, .disconnected(reason)))
        bearer.end(DisconnectReason(.closedLocally))
        bearer.expectFinished()
    }

    @Test func `a timer that was stopped or replaced is ignored when it fires`() {
        var client = GATTClient(maximumMTU: 517)
        let time = Bearer.time
        _ = client.begin(ReadValue(handle: 3))
        _ = client.nextPDU()
        guard case .start(let first, _) = client.sent().timer else {
            Issue.record("no timer was started")
            return
        }
        _ = client.received(pdu("0b01"), at: time)
        #expect(client.timerFired(first) == GATTClient.Output())
        _ = client.begin(ReadValue(handle: 4))
        _ = client.nextPDU()
        guard case .start(let second, let duration) = client.sent().timer else {
            Issue.record("no timer was started")
            return
        }
        #expect(duration == .seconds(30))
        #expect(first != second)
        #expect(client.timerFired(first) == GATTClient.Output())
        #expect(client.timerFired(second).close == DisconnectReason(.transactionTimeout))
    }
}
