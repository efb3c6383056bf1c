import Testing

@testable import BLEProtocol

@Suite struct SecretKeyTests {
    @Test func `sixteen octets go in and come out`() throws {
        let octets = [UInt8](0xA0...0xAF)
        #expect(try #require(SecretKey(octets: octets)).octets == octets)
        #expect(SecretKey(octets: octets.dropLast()) == nil)
        #expect(SecretKey(octets: octets + [0]) == nil)
    }

    @Test func `no way of printing shows an octet`() throws {
        let key = try #require(SecretKey(octets: [UInt8](0xA0...0xAF)))
        var dumped = ""
        dump(key, to: &dumped)
        dump([key], to: &dumped)
        let optional: SecretKey? = key
        let text = dumped + "\(key)\(String(reflecting: key))\(String(describing: optional))\([key])"
        #expect(!text.contains { $0.isNumber && $0 != "1" && $0 != "0" })
    }
}
