import Testing

@testable import BLEProtocol

@Suite struct LongWriteTests {
    private let value = [UInt8](0..<40)

    @Test func `a value is prepared in parts of ATT_MTU - 5 and then executed`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: value))
        bearer.expect("1607000000" + hex(value[0..<18]), answeredWith: "1707000000" + hex(value[0..<18]))
        bearer.expect("1607001200" + hex(value[18..<36]), answeredWith: "1707001200" + hex(value[18..<36]))
        bearer.expect("1607002400" + hex(value[36..<40]), answeredWith: "1707002400" + hex(value[36..<40]))
        bearer.expectFinished()
        bearer.expect("1801", answeredWith: "19")
        bearer.expectFinished(.success(id))
    }

    @Test func `an empty value is one empty part`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [], isVerified: true))
        bearer.expect("1607000000", answeredWith: "1707000000")
        bearer.expect("1801", answeredWith: "19")
        bearer.expectFinished(.success(id))
    }

    @Test func `512 octets at an ATT_MTU of 517 are one part`() {
        var bearer = Bearer(mtu: 517)
        let id = bearer.begin(LongWrite(handle: 7, value: [UInt8](repeating: 9, count: 512)))
        #expect(bearer.send().map(\.count) == [2 * 517])
        bearer.receive("1707000000")
        bearer.expect("1801", answeredWith: "19")
        bearer.expectFinished(.success(id))
    }

    @Test(arguments: ["1707000000 0002", "1708000000 0001", "1707000100 0001", "1707000000 00", "1707000000 000102"])
    func `a verified write with another echo is undone`(echo: String) {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [0, 1], isVerified: true))
        bearer.expect("1607000000 0001", answeredWith: echo)
        bearer.expectFinished(.failure(id, .mismatch(handle: 7, offset: 0)))
        bearer.expect("1800", answeredWith: "19")
        bearer.expectFinished()
    }

    @Test func `a verified write with a torn echo is undone`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [0, 1], isVerified: true))
        bearer.expect("1607000000 0001", answeredWith: "170700")
        let error = ATTDecodingError(opcode: .prepareWriteResponse, offset: 3, reason: .truncated)
        bearer.expectFinished(.failure(id, .malformedResponse(error)))
        bearer.expect("1800", answeredWith: "19")
    }

    @Test func `an answer with another opcode is ignored, at each step`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [0, 1]))
        bearer.expect("1607000000 0001", answeredWith: "13")
        bearer.receive("19")
        bearer.receive("1707000000 0001")
        bearer.expect("1801", answeredWith: "1707000000 0001")
        bearer.expectFinished()
        bearer.receive("19")
        bearer.expectFinished(.success(id))
        bearer.expectNotes(3)
    }

    @Test func `an error at Execute is reported, and leaves nothing to undo`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [0, 1]))
        bearer.expect("1607000000 0001", answeredWith: "1707000000 0001")
        bearer.expect("1801", answeredWith: "011807000d")
        bearer.expectSends()
        bearer.expectFinished(.failure(id, .attribute(.invalidAttributeValueLength, handle: 7)))
    }

    @Test func `the next procedure waits until the failed one is undone, and a silent server closes the bearer`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [0, 1]))
        let read = bearer.begin(ReadValue(handle: 3))
        bearer.expect("1607000000 0001", answeredWith: "0116070003")
        bearer.expectFinished(.failure(id, .attribute(.writeNotPermitted, handle: 7)))
        bearer.expectSends("1800")
        bearer.fire()
        let reason = DisconnectReason(.transactionTimeout)
        bearer.expectFinished(.failure(read, .disconnected(reason)))
        #expect(bearer.close == reason)
    }

    @Test func `more than 512 octets are refused before anything is sent`() {
        var bearer = Bearer()
        let id = bearer.begin(LongWrite(handle: 7, value: [UInt8](repeating: 0, count: 513)))
        bearer.expectSends()
        bearer.expectFinished(.failure(id, .valueTooLong(count: 513, maximum: 512)))
    }
}
