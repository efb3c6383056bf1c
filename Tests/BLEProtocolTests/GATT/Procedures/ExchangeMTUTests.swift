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

    @Test func `a malformed answer fails and changes nothing`() {
        var bearer = Bearer()
        let id = bearer.begin(ExchangeMTU())
        bearer.expect("020502", answeredWith: "0300")
        let error = ATTDecodingError(opcode: .exchangeMTUResponse, offset: 1, reason: .truncated)
        bearer.expectFinished(.failure(id, .malformedResponse(error)))
        #expect(bearer.client.mtu == 23)
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
