import Testing

@testable import Sparkplug

@Suite("A payload")
struct PayloadTests {
    /// As the library pysparkplug 0.6.1 (protobuf 7.36) writes it.
    private static let foreign = """
        0880d095ffbc3112350a0b54656d706572617475726518ffcf95ffbc31200a28014a120a07656e67556e69741207080c4203c2b0436900000\
        00000803440120e0a0562645365711801200858ac02120a0a026f6b1801200b7001120e0a01771801200c7a056368657374120c0a01621801\
        201182010200ff12090a016e1801200a38011807
        """

    /// A command with a rebirth, and metrics of types that a gateway doesn't use.
    private static let command = """
        0801121a0a144e6f646520436f6e74726f6c2f52656269727468200b7001120a0a01662009650000c03f120b0a0169200350ffffffff0f120\
        61005200d5805
        """

    private static var payload: SparkplugPayload {
        var temperature = SparkplugMetric("Temperature", .double(20.5), at: 1_699_999_999_999, unit: "°C")
        temperature.isHistorical = true
        let metrics = [
            temperature, SparkplugMetric("bdSeq", .unsigned(300), at: 1), SparkplugMetric("ok", .boolean(true), at: 1),
            SparkplugMetric("w", .string("chest"), at: 1), SparkplugMetric("b", .bytes([0, 0xFF]), at: 1),
            SparkplugMetric("n", .null(.double), at: 1),
        ]
        return SparkplugPayload(timestamp: 1_700_000_000_000, metrics: metrics, sequence: 7)
    }

    private static func octets(_ digits: String) -> [UInt8] {
        var rest = digits[...]
        var octets: [UInt8] = []
        while let octet = UInt8(rest.prefix(2), radix: 16) {
            octets.append(octet)
            rest = rest.dropFirst(2)
        }
        return octets
    }

    @Test("is written and read as by another library")
    func foreign() throws {
        let octets = Self.octets(Self.foreign)
        #expect(Self.payload.encoded == octets)
        #expect(try SparkplugPayload(decoding: octets) == Self.payload)
    }

    @Test("is read without the metrics whose types are not used")
    func strangers() throws {
        let payload = try SparkplugPayload(decoding: Self.octets(Self.command))
        #expect(payload.metrics == [SparkplugMetric("Node Control/Rebirth", .boolean(true), at: 0)])
    }

    @Test("that is cut off or altered is an error or another payload, and never more")
    func damage() {
        let octets = Self.octets(Self.foreign)
        for end in octets.indices { _ = try? SparkplugPayload(decoding: octets[..<end]) }
        for index in octets.indices {
            for value in [0, 0x7F, 0x80, 0xFF] as [UInt8] {
                var other = octets
                other[index] = value
                _ = try? SparkplugPayload(decoding: other)
            }
        }
        #expect(throws: SparkplugError.self) { try SparkplugPayload(decoding: octets.dropLast()) }
        let endless: [UInt8] = [0x08] + Array(repeating: 0x80, count: 11)
        #expect(throws: SparkplugError(cause: "a number has more than 64 bits")) {
            try SparkplugPayload(decoding: endless)
        }
        // A length of 2^64 - 1.
        #expect(throws: SparkplugError(cause: "it ends within a field")) {
            try SparkplugPayload(decoding: [0x12] + Array(repeating: 0xFF, count: 9) + [0x01])
        }
    }

    @Test(
        "a record is read as it was written",
        arguments: [
            EdgeRecord.started, .online("kitchen"), .offline("küche"), .online(""), .values("kitchen", payload.metrics),
        ]
    )
    func records(_ record: EdgeRecord) {
        #expect(EdgeRecord(decoding: record.encoded) == record)
        for end in record.encoded.indices { _ = EdgeRecord(decoding: Array(record.encoded[..<end])) }
        #expect(EdgeRecord(decoding: [9, 0]) == nil)
        #expect(EdgeRecord(decoding: [1, 5, 0]) == nil)
    }
}
