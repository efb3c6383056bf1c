import Testing

@testable import BLEProtocol

@Suite struct ExchangeMTUTests {
    @Test(arguments: [
        ("030002", 512), ("030502", 517), ("031c00", 28), ("03ffff", 517), ("031700", 23), ("031600", 23),
        ("030000", 23),
    ])
    func `the smaller offer holds from the answer on, and less than 23 counts as 23`(answer: String, mtu: Int) {
        var bearer = Bearer()
        #expect(bearer.client.mtu == 23)
        let id = bearer.begin(ExchangeMTU())
        #expect(!bearer.client.isExchangingMTU)
        bearer.expectSends("020502")
        #expect(bearer.client.isExchangingMTU)
        #expect(bearer.client.mtu == 23)
        bearer.receive(answer)
        #expect(!bearer.client.isExchangingMTU)
        #expect(bearer.client.mtu == mtu)
        bearer.expectFinished(.success(id, mtu))
    }

    @Test(arguments: ["0102000006", "010200000e"])
    func `a server that refuses leaves ATT_MTU at 23`(answer: String) {
        var bearer = Bearer()
        let id = bearer.begin(ExchangeMTU())
        bearer.expect("020502", answeredWith: answer)
        bearer.expectFinished(.success(id, 23))
        #expect(bearer.close == nil)
    }

    @Test func `it is never asked twice, also after a refusal`() {
        var bearer = Bearer()
        _ = bearer.begin(ExchangeMTU())
        let queued = bearer.begin(ExchangeMTU())
        bearer.expect("020502", answeredWith: "034000")
        #expect(bearer.finished.last == .success(queued, 64))
        let third = bearer.begin(ExchangeMTU())
        #expect(bearer.finished.last == .success(third, 64))
        bearer.expectSends()

        var refused = Bearer()
        _ = refused.begin(ExchangeMTU())
        refused.expect("020502", answeredWith: "0102000006")
        _ = refused.begin(ExchangeMTU())
        refused.expectSends()
    }

    @Test func `it is not asked where the peer has asked already`() {
        var bearer = Bearer()
        bearer.client.setMTU(185)
        #expect(bearer.client.mtu == 185)
        let id = bearer.begin(ExchangeMTU())
        bearer.expectSends()
        bearer.expectFinished(.success(id, 185))
    }

    @Test func `the peer's exchange is held between 23 and our own maximum`() {
        var bearer = Bearer(maximumMTU: 100)
        bearer.client.setMTU(5)
        #expect(bearer.client.mtu == 23)
        bearer.client.setMTU(4000)
        #expect(bearer.client.mtu == 100)
    }

    @Test func `a malformed answer counts as a refusal`() {
        var bearer = Bearer()
        let id = bearer.begin(ExchangeMTU())
        bearer.expect("020502", answeredWith: "0300")
        bearer.expectFinished(.success(id, 23))
        #expect(bearer.client.mtu == 23)
    }

    @Test func `unanswered it ends after 5 s with 23, and the late answer is put into force`() {
        var client = GATTClient(maximumMTU: 517)
        let (exchange, _) = client.begin(ExchangeMTU())
        let (read, _) = client.begin(ReadValue(handle: 3))
        _ = client.nextPDU()
        guard case .start(let timer, let duration) = client.sent().timer else {
            Issue.record("no timer was started")
            return
        }
        #expect(duration == .seconds(5))
        let given = client.timerFired(timer)
        #expect(given.finished == [.success(exchange, 23)] && given.close == nil)
        #expect(client.nextPDU() == pdu("0a0300") && !client.isExchangingMTU)
        _ = client.sent()
        let late = client.received(pdu("030502"), at: Bearer.time)
        #expect(late == GATTClient.Output() && client.mtu == 517)
        // Once.
        #expect(client.received(pdu("036400"), at: Bearer.time).notes.count == 1 && client.mtu == 517)
        #expect(client.received(pdu("0b07"), at: Bearer.time).finished == [.success(read, [7] as [UInt8])])
    }

    @Test func `the answer counts also when the caller has cancelled; cancelled unsent, it may be asked again`() {
        var bearer = Bearer()
        let unsent = bearer.begin(ExchangeMTU())
        bearer.cancel(unsent)
        let id = bearer.begin(ExchangeMTU())
        bearer.expectSends("020502")
        bearer.cancel(id)
        bearer.receive("03f700")
        #expect(bearer.client.mtu == 247)
    }
}
