import BLEProtocol
import Testing

@Suite struct RedactionTests {
    private func redact(_ pdus: [(pdu: [UInt8], isSent: Bool)]) -> [[UInt8]] {
        var redactor = ATTRedactor()
        return pdus.map { redactor.redact($0.pdu, isSent: $0.isSent).octets }
    }

    @Test(
        arguments: [
            ([0x0B, 1, 2, 3], [0x0B, 0, 0, 0]), ([0x12, 5, 0, 9, 9], [0x12, 5, 0, 0, 0]),
            ([0x52, 5, 0, 9], [0x52, 5, 0, 0]),
            ([0x1B, 5, 0, 9], [0x1B, 5, 0, 0]), ([0x16, 5, 0, 2, 0, 9], [0x16, 5, 0, 2, 0, 0]),
            ([0x01, 0x0A, 5, 0, 2], [0x01, 0x0A, 5, 0, 2]), ([0x0A, 5, 0], [0x0A, 5, 0]),
            ([0x21, 2, 0, 9, 9, 1, 0, 9], [0x21, 2, 0, 0, 0, 1, 0, 0]),
            ([0x23, 5, 0, 2, 0, 9, 9, 6, 0, 1, 0, 9], [0x23, 5, 0, 2, 0, 0, 0, 6, 0, 1, 0, 0]),
            ([0x23, 5, 0, 200, 200, 9, 9], [0x23, 5, 0, 200, 200, 0, 0]), ([0x77, 9, 9], [0x77, 0, 0]),
            ([0x0B], [0x0B]),
            ([0x12], [0x12]), ([0x09], [0x09]), ([], []),
        ] as [([UInt8], [UInt8])]
    )
    func `values become zeros, and what is around them stays`(pdu: [UInt8], expected: [UInt8]) {
        #expect(redact([(pdu, false)]) == [expected])
    }

    @Test func `declarations stay, values that are read by their type don't`() {
        let declarations: [UInt8] = [0x09, 7, 2, 0, 2, 3, 0, 0, 0x2A]
        let values: [UInt8] = [0x09, 4, 3, 0, 0x41, 0x42]
        let pdus = redact([
            ([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28], true), (declarations, false),
            ([0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A], true), (values, false), (declarations, false),
        ])
        #expect(pdus[1] == declarations)
        #expect(pdus[3] == [0x09, 4, 3, 0, 0, 0])
        // Nobody has asked for it.
        #expect(pdus[4] == [0x09, 7, 2, 0, 0, 0, 0, 0, 0])
    }

    @Test func `of advertising data the structure stays, and whose data it is`() {
        let data: [UInt8] = [
            2, 1, 6, 3, 3, 0x0D, 0x18, 4, 9, 65, 66, 67, 5, 0xFF, 0x59, 0, 1, 2, 4, 0x16, 0x0F, 0x18, 99,
        ]
        #expect(
            redacted(advertising: data) == [
                2, 1, 6, 3, 3, 0x0D, 0x18, 4, 9, 0, 0, 0, 5, 0xFF, 0x59, 0, 0, 0, 4, 0x16, 0x0F, 0x18, 0,
            ]
        )
        for count in 0..<data.count { #expect(redacted(advertising: Array(data.prefix(count))).count == count) }
    }
}
