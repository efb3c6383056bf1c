import Testing

@testable import BLEProtocol

@Suite struct WriteValueTests {
    @Test func `a value of up to ATT_MTU - 3 octets is one request`() {
        var bearer = Bearer()
        let value = [UInt8](repeating: 0xEE, count: 20)
        let id = bearer.begin(WriteValue(handle: 7, value: value))
        bearer.expect("120700" + hex(value), answeredWith: "13")
        let empty = bearer.begin(WriteValue(handle: 7, value: []))
        bearer.expect("120700", answeredWith: "13")
        bearer.expectFinished(.success(id), .success(empty))
    }

    @Test func `a longer value is a long write, whose echo is not looked at`() {
        var bearer = Bearer()
        let id = bearer.begin(WriteValue(handle: 7, value: [UInt8](repeating: 0xEE, count: 21)))
        bearer.expect("1607000000" + String(repeating: "ee", count: 18), answeredWith: "17")
        bearer.expect("1607001200 eeeeee", answeredWith: "17ffff")
        bearer.expect("1801", answeredWith: "19")
        bearer.expectFinished(.success(id))
    }

    @Test func `a long write that is refused is undone, and its first error reported`() {
        var bearer = Bearer()
        let id = bearer.begin(WriteValue(handle: 7, value: [UInt8](repeating: 0xEE, count: 21)))
        bearer.expect("1607000000" + String(repeating: "ee", count: 18), answeredWith: "0116070009")
        bearer.expect("1800", answeredWith: "011800000e")
        bearer.expectFinished(.failure(id, .attribute(.prepareQueueFull, handle: 7)))
    }

    @Test func `errors and answers with another form fail the write`() {
        var bearer = Bearer()
        let refused = bearer.begin(WriteValue(handle: 7, value: [1]))
        bearer.expect("12070001", answeredWith: "0112070003")
        let malformed = bearer.begin(WriteValue(handle: 7, value: [1]))
        bearer.expect("12070001", answeredWith: "1300")
        let error = ATTDecodingError(opcode: .writeResponse, offset: 1, reason: .trailingOctets)
        bearer.expectFinished(
            .failure(refused, .attribute(.writeNotPermitted, handle: 7)),
            .failure(malformed, .malformedResponse(error))
        )
    }

    @Test func `more than 512 octets are refused before anything is sent`() {
        var bearer = Bearer(mtu: 517)
        let most = bearer.begin(WriteValue(handle: 7, value: [UInt8](repeating: 1, count: 512)))
        #expect(bearer.send().count == 1)
        bearer.receive("13")
        let tooLong = bearer.begin(WriteValue(handle: 7, value: [UInt8](repeating: 1, count: 513)))
        bearer.expectSends()
        bearer.expectFinished(.success(most), .failure(tooLong, .valueTooLong(count: 513, maximum: 512)))
    }

    @Test func `notifications may arrive before the answer to the write that switches them on`() {
        var bearer = Bearer()
        let id = bearer.begin(WriteValue(handle: 4, value: [1, 0]))
        bearer.expectSends("1204000100")
        bearer.receive("1b0300aa")
        #expect(bearer.takeValues().map(\.handle) == [3])
        bearer.receive("13")
        bearer.expectFinished(.success(id))
    }
}
