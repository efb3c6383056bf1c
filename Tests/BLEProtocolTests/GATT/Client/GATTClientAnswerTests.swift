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

    @Test func `an answer with another opcode is ignored, and the true one ends the right request`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        let next = bearer.begin(ReadValue(handle: 4))
        bearer.expect("0a0300", answeredWith: "13")
        bearer.receive("0d0102")
        bearer.expectFinished()
        bearer.expectSends()
        bearer.expectNotes(2)
        bearer.receive("0b03")
        bearer.expectFinished(.success(id, [3] as [UInt8]))
        bearer.expect("0a0400", answeredWith: "0b04")
        bearer.expectFinished(.success(next, [4] as [UInt8]))
        #expect(bearer.close == nil)
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

    @Test func `an error for another handle is put aside, and the true answer ends the request`() {
        var bearer = Bearer()
        for (begin, request, stray) in [
            (bearer.begin(ReadValue(handle: 3)), "0a0300", "010a777708"),
            (bearer.begin(WriteValue(handle: 3, value: [1])), "12030001", "0112040003"),
            (bearer.begin(ReadValue(handle: 3, offset: 1)), "0c03000100", "010c300007"),
        ] {
            bearer.expect(request, answeredWith: stray)
            bearer.expectNotes(1)
            bearer.expectFinished()
            bearer.receive("01\(request.prefix(2))030005")
            bearer.expectFinished(.failure(begin, .attribute(.insufficientAuthentication, handle: 3)))
        }
    }

    @Test func `an error for another handle counts when nothing better came in 30 s, and for handle 0 at once`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "010a777708")
        bearer.receive("010a787801")
        bearer.fire()
        bearer.expectFinished(.failure(id, .attribute(.insufficientAuthorization, handle: 0x7777)))
        #expect(bearer.close == nil)
        let next = bearer.begin(ReadValue(handle: 4))
        bearer.expect("0a0400", answeredWith: "010a00000e")
        bearer.expectFinished(.failure(next, .attribute(.unlikely, handle: 0)))
    }

    @Test func `the handle of an error for a range, or for several attributes, is told and never matched`() {
        var bearer = Bearer()
        let range = bearer.begin(ReadByUUID(BluetoothUUID(0x2A0D)))
        bearer.expect("080100ffff0d2a", answeredWith: "01080b0002")
        let several = bearer.begin(ReadMultiple(handles: [3, 7]))
        bearer.expect("0e03000700", answeredWith: "010e07000a")
        bearer.expectFinished(
            .failure(range, .attribute(.readNotPermitted, handle: 0x0B)),
            .failure(several, .attribute(.attributeNotFound, handle: 7))
        )
    }

    @Test func `only an answer that repeats the mark settles a bearer that an earlier program had`() {
        for answer in ["0104feff0a", "010400000a", "0501feff0229", "0104feff06"] {
            var bearer = Bearer()
            let id = bearer.begin(SettleBearer())
            let read = bearer.begin(ReadValue(handle: 11))
            bearer.expectSends("04fefffeff")
            for stale in ["0b99", "13", "0104100001", "0501100002290", "05", "010a0b0002", "0305", "01"] {
                bearer.receive(stale.count % 2 == 0 ? stale : String(stale.dropLast()))
            }
            bearer.expectNotes(8)
            bearer.expectFinished()
            bearer.expectSends()
            bearer.receive(answer)
            bearer.expectFinished(.success(id))
            bearer.expect("0a0b00", answeredWith: "0b0b")
            bearer.expectFinished(.success(read, [11] as [UInt8]))
        }
    }

    @Test(arguments: [
        ("010a030001", GATTFailure.databaseChanged), ("010a03000e", .attribute(.unlikely, handle: 3)),
    ])
    func `Invalid Handle behind a change of the services is told as the change, another error as it is`(
        answer: String,
        failure: GATTFailure
    ) {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expectSends("0a0300")
        _ = bearer.client.invalidate(1...0xFFFF)
        bearer.receive(answer)
        bearer.expectFinished(.failure(id, failure))
    }

    @Test func `an unknown error code survives`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "010a0300c7")
        bearer.expectFinished(.failure(id, .attribute(ATTError(rawValue: 0xC7), handle: 3)))
    }

    @Test(arguments: [
        ("010a", 2, ATTDecodingError.Reason.truncated), ("010a0300", 4, .truncated),
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
