import Testing

@testable import BLEProtocol

@Suite struct GATTClientValueTests {
    typealias Value = GATTClient.ReceivedValue

    private let time = Bearer.time

    @Test func `a notification is delivered, with its handle and time`() {
        var client = GATTClient(maximumMTU: 517)
        var expected = GATTClient.Output()
        expected.values = [Value(handle: 0x0103, value: [1, 2, 3], time: time, isIndication: false)]
        #expect(client.received(pdu("1b0301010203"), at: time) == expected)
        #expect(client.nextPDU() == nil)
    }

    @Test func `an indication is delivered and confirmed, also while a request is open`() {
        var bearer = Bearer()
        _ = bearer.begin(ReadValue(handle: 1))
        bearer.expectSends("0a0100")
        bearer.receive("1d0800aa")
        #expect(bearer.takeValues() == [Value(handle: 8, value: [0xAA], time: time, isIndication: true)])
        bearer.expectSends("1e")
    }

    @Test func `each indication is confirmed once`() {
        var bearer = Bearer()
        bearer.receive("1d0800aa")
        bearer.receive("1d0900bb")
        #expect(bearer.takeValues().map(\.handle) == [8, 9])
        bearer.expectSends("1e", "1e")
        bearer.expectSends()
    }

    @Test func `values of no octets and of more than ATT_MTU are delivered whole`() {
        var bearer = Bearer()
        bearer.receive("1b0300")
        bearer.receive("1b0300" + String(repeating: "5a", count: 512))
        #expect(bearer.takeValues().map(\.value.count) == [0, 512])
    }

    @Test func `a notification of several values delivers each, in order`() {
        var bearer = Bearer()
        bearer.receive("23 0300 0100 aa 0500 0000 0700 0200 bbcc")
        let values = bearer.takeValues()
        #expect(values.map(\.handle) == [3, 5, 7])
        #expect(values.map { Array($0.value) } == [[0xAA], [], [0xBB, 0xCC]])
        #expect(values.allSatisfy { !$0.isIndication })
        bearer.receive("23 0300 0100 aa")
        #expect(bearer.takeValues().count == 1)
        bearer.expectSends()
    }

    @Test(arguments: ["0500 0300 bbcc", "0500 03", "0500", "05"])
    func `of several values the last of which is cut, those before it are delivered`(last: String) {
        var bearer = Bearer()
        bearer.receive("23 0300 0100 aa 0700 0000" + last)
        let values = bearer.takeValues()
        #expect(values.map(\.handle) == [3, 7])
        #expect(values.map { Array($0.value) } == [[0xAA], []])
        bearer.expectNotes(1)
    }

    @Test func `a malformed value is ignored with a note, and an indication confirmed all the same`() {
        var bearer = Bearer()
        bearer.receive("1b03")
        bearer.receive("23 0300 0200 aa")
        bearer.expectNotes(2)
        bearer.expectSends()
        bearer.receive("1d")
        bearer.expectNotes(1)
        bearer.expectSends("1e")
        #expect(bearer.takeValues().isEmpty)
    }

    @Test func `on a closed bearer values are delivered and nothing is confirmed`() {
        var bearer = Bearer()
        bearer.end(DisconnectReason(.closedLocally))
        bearer.receive("1d0800aa")
        #expect(bearer.takeValues().count == 1)
        bearer.expectSends()
    }
}
