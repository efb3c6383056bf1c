import Testing

@testable import BLEProtocol

/// What happens between a PDU's way to the radio and the radio's word that it took it.
@Suite struct GATTClientSendingTests {
    @Test func `nothing else is given while a PDU is on its way`() {
        var bearer = Bearer()
        _ = bearer.begin(ReadValue(handle: 1))
        bearer.startSending("0a0100")
        _ = bearer.begin(WriteCommand(handle: 2, value: [7]))
        #expect(bearer.client.nextPDU() == nil)
        bearer.sent()
        bearer.expectSends("52020007")
    }

    @Test func `what is held waits, and confirmations go on`() {
        var bearer = Bearer()
        _ = bearer.begin(ReadValue(handle: 1))
        _ = bearer.begin(WriteCommand(handle: 2, value: [7]))
        bearer.client.isHeld = true
        #expect(bearer.client.nextPDU() == nil && !bearer.client.hasSomethingToSend)
        bearer.receive("1d030001")
        bearer.expectSends("1e")
        #expect(bearer.client.nextPDU() == nil)
        bearer.client.isHeld = false
        bearer.expectSends("52020007", "0a0100")
    }

    @Test func `an answer that is faster than the radio's word ends the request, and no time runs`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        let second = bearer.begin(ReadValue(handle: 2))
        bearer.startSending("0a0100")
        bearer.receive("0b05")
        bearer.expectFinished(.success(first, [5] as [UInt8]))
        bearer.sent()
        #expect(bearer.timer == nil)
        bearer.expect("0a0200", answeredWith: "0b06")
        bearer.expectFinished(.success(second, [6] as [UInt8]))
        bearer.expectNotes(0)
    }

    @Test func `a request that goes on before the radio's word has its own time`() {
        var bearer = Bearer()
        let whole = [UInt8](repeating: 1, count: 22)
        let id = bearer.begin(ReadValue(handle: 1))
        bearer.startSending("0a0100")
        bearer.receive("0b" + hex(whole))
        bearer.sent()
        #expect(bearer.timer == nil)
        bearer.expectSends("0c01001600")
        #expect(bearer.timer != nil)
        bearer.receive("0d02")
        bearer.expectFinished(.success(id, whole + [2]))
    }

    @Test func `a request that is refused is given again, and its time begins only then`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 1))
        bearer.startSending("0a0100")
        bearer.notSent()
        #expect(bearer.timer == nil)
        #expect(!bearer.client.isAwaitingAnswer)
        bearer.expect("0a0100", answeredWith: "0b05")
        bearer.expectFinished(.success(id, [5] as [UInt8]))
    }

    @Test func `a request cancelled on its way keeps the slot until it is answered`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        let second = bearer.begin(ReadValue(handle: 2))
        bearer.startSending("0a0100")
        bearer.cancel(first)
        bearer.expectFinished(.failure(first, .cancelled))
        bearer.sent()
        #expect(bearer.timer != nil)
        bearer.expectSends()
        bearer.receive("0b05")
        bearer.expect("0a0200", answeredWith: "0b06")
        bearer.expectFinished(.success(second, [6] as [UInt8]))
    }

    @Test func `a request cancelled on its way and then refused is withdrawn`() {
        var bearer = Bearer()
        let first = bearer.begin(ReadValue(handle: 1))
        _ = bearer.begin(ReadValue(handle: 2))
        bearer.startSending("0a0100")
        bearer.cancel(first)
        bearer.notSent()
        bearer.expectSends("0a0200")
    }

    @Test func `a command that is refused stays the first, and is finished when it is taken`() {
        var bearer = Bearer()
        let first = bearer.begin(WriteCommand(handle: 1, value: [1]))
        let second = bearer.begin(WriteCommand(handle: 1, value: [2]))
        bearer.startSending("52010001")
        bearer.notSent()
        bearer.expectFinished()
        bearer.expectSends("52010001", "52010002")
        bearer.expectFinished(.success(first), .success(second))
    }

    @Test func `a command waits for the radio until it is taken, also on its way there; a request does not`() {
        var bearer = Bearer()
        let (command, request) = (
            bearer.begin(WriteCommand(handle: 1, value: [1])), bearer.begin(ReadValue(handle: 1))
        )
        #expect(bearer.client.isWaitingCommand(command) && !bearer.client.isWaitingCommand(request))
        bearer.startSending("52010001")
        #expect(bearer.client.isWaitingCommand(command))
        bearer.notSent()
        #expect(bearer.client.isWaitingCommand(command))
        bearer.expectSends("52010001", "0a0100")
        #expect(!bearer.client.isWaitingCommand(command) && !bearer.client.isWaitingCommand(request))
    }

    @Test(arguments: [true, false])
    func `a command cancelled on its way is over at once, whatever the radio says`(isTaken: Bool) {
        var bearer = Bearer()
        let first = bearer.begin(WriteCommand(handle: 1, value: [1]))
        let second = bearer.begin(WriteCommand(handle: 1, value: [2]))
        bearer.startSending("52010001")
        bearer.cancel(first)
        bearer.cancel(first)
        bearer.expectFinished(.failure(first, .cancelled))
        if isTaken { bearer.sent() } else { bearer.notSent() }
        bearer.expectSends("52010002")
        bearer.expectFinished(.success(second))
    }

    @Test func `an indication whose confirmation is refused is confirmed later, once`() {
        var bearer = Bearer()
        bearer.receive("1d030001")
        bearer.startSending("1e")
        bearer.notSent()
        bearer.expectSends("1e")
    }

    @Test(arguments: [true, false])
    func `the end of the bearer while a PDU is on its way ends its procedure once`(isTaken: Bool) {
        let reason = DisconnectReason(.supervisionTimeout)
        for isCommand in [true, false] {
            var bearer = Bearer()
            let id =
                isCommand
                ? bearer.begin(WriteCommand(handle: 1, value: [1])) : bearer.begin(ReadValue(handle: 1))
            _ = bearer.client.nextPDU()
            bearer.client.sending()
            bearer.end(reason)
            bearer.expectFinished(.failure(id, .disconnected(reason)))
            if isTaken { bearer.sent() } else { bearer.notSent() }
            bearer.expectFinished()
            #expect(bearer.timer == nil)
            #expect(bearer.client.nextPDU() == nil)
        }
    }
}
