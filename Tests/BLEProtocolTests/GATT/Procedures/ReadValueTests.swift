import Testing

@testable import BLEProtocol

@Suite struct ReadValueTests {
    /// `count` octets from `start` on, each the low octet of its place.
    private func part(_ start: Int, _ count: Int) -> [UInt8] {
        (start..<start + count).map { UInt8(truncatingIfNeeded: $0) }
    }

    @Test(arguments: [0, 1, 21])
    func `a value that does not fill ATT_MTU - 1 takes one request`(count: Int) {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, count)))
        bearer.expectFinished(.success(id, part(0, count)))
        bearer.expectSends()
    }

    @Test func `a longer value is read on until a part is short`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 22)))
        bearer.expect("0c0300 1600", answeredWith: "0d" + hex(part(22, 22)))
        bearer.expect("0c0300 2c00", answeredWith: "0d" + hex(part(44, 5)))
        bearer.expectFinished(.success(id, part(0, 49)))
    }

    @Test(arguments: ["0d", "010c030007", "010c03000b", "010c030006"])
    func `a value of exactly ATT_MTU - 1 octets ends with an empty part, or an error that says so`(answer: String) {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 22)))
        bearer.expect("0c0300 1600", answeredWith: answer)
        bearer.expectFinished(.success(id, part(0, 22)))
    }

    @Test func `another error behind the first part fails the read`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 22)))
        bearer.expect("0c0300 1600", answeredWith: "010c030012")
        bearer.expectFinished(.failure(id, .attribute(.databaseOutOfSync, handle: 3)))
    }

    @Test func `the errors that end a value fail the read when they come first`() {
        for code in ["07", "0b", "06"] {
            var bearer = Bearer()
            let id = bearer.begin(ReadValue(handle: 3))
            bearer.expect("0a0300", answeredWith: "010a0300" + code)
            let error = ATTError(rawValue: pdu(code)[0])
            bearer.expectFinished(.failure(id, .attribute(error, handle: 3)))
        }
    }

    @Test func `reading ends at 512 octets, with a server that never sends a short part`() {
        var bearer = Bearer(mtu: 65)
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 64)))
        for offset in stride(from: 64, to: 512, by: 64) {
            let text = hex([UInt8(truncatingIfNeeded: offset), UInt8(truncatingIfNeeded: offset >> 8)])
            bearer.expect("0c0300" + text, answeredWith: "0d" + hex(part(offset, 64)))
        }
        bearer.expectSends()
        bearer.expectFinished(.success(id, part(0, 512)))
    }

    @Test func `what a peer sends beyond ATT_MTU is read again`() {
        var bearer = Bearer(mtu: 512)
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 512)))
        bearer.expect("0c0300 ff01", answeredWith: "0d" + hex(part(511, 1)))
        bearer.expectFinished(.success(id, part(0, 512)))
    }

    @Test func `512 octets fit one request at an ATT_MTU of 517`() {
        var bearer = Bearer(mtu: 517)
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 512)))
        bearer.expectFinished(.success(id, part(0, 512)))
    }

    @Test func `an exchange that crosses the request does not make a cut value look complete`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expectSends("0a0300")
        bearer.client.setMTU(100)
        bearer.receive("0b" + hex(part(0, 22)))
        bearer.expect("0c0300 1600", answeredWith: "0d" + hex(part(22, 30)))
        bearer.expectFinished(.success(id, part(0, 52)))
    }

    @Test(arguments: ["010c03000b", "010c030006"])
    func `a value that is short by the ATT_MTU of an exchange between its parts is read once more`(answer: String) {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 22)))
        bearer.expectSends("0c0300 1600")
        bearer.client.setMTU(100)
        bearer.receive(answer)
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 50)))
        bearer.expectFinished(.success(id, part(0, 50)))
    }

    @Test func `a value that is refused as not long is read once more at most`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3))
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 22)))
        bearer.expectSends("0c0300 1600")
        bearer.client.setMTU(100)
        bearer.receive("010c03000b")
        bearer.expect("0a0300", answeredWith: "0b" + hex(part(0, 99)))
        bearer.expectSends("0c0300 6300")
        bearer.client.setMTU(200)
        bearer.receive("010c03000b")
        bearer.expectSends()
        bearer.expectFinished(.success(id, part(0, 99)))
    }

    @Test func `a part that is short by the ATT_MTU of an exchange fails, for its reader to begin anew`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3, offset: 19))
        bearer.expect("0c0300 1300", answeredWith: "0d" + hex(part(19, 22)))
        bearer.expectSends("0c0300 2900")
        bearer.client.setMTU(100)
        bearer.receive("010c03000b")
        bearer.expectFinished(.failure(id, .attribute(.attributeNotLong, handle: 3)))
    }

    @Test func `with an offset it reads parts alone, and reports an error of the first one`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadValue(handle: 3, offset: 100))
        bearer.expect("0c0300 6400", answeredWith: "0d" + hex(part(100, 22)))
        bearer.expect("0c0300 7a00", answeredWith: "0d")
        let beyond = bearer.begin(ReadValue(handle: 3, offset: 600))
        bearer.expect("0c0300 5802", answeredWith: "010c030007")
        bearer.expectFinished(
            .success(id, part(100, 22)),
            .failure(beyond, .attribute(.invalidOffset, handle: 3))
        )
    }
}
