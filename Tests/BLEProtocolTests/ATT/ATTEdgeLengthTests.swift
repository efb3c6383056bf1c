import Testing

@testable import BLEProtocol

/// PDUs at the edges of what fits: the MTU of 23 and of 517, attributes of 512 octets, length octets, empty values.
@Suite struct ATTEdgeLengthTests {
    /// Nothing; one; what fits behind five, three, two and one octets at an MTU of 23, and one more; what a length
    /// octet tells; the longest attribute and one more; the same at an MTU of 517.
    static let lengths = [0, 1, 18, 19, 20, 21, 22, 23, 251, 252, 253, 254, 255, 256, 511, 512, 513, 514, 515, 516]

    private func value(_ count: Int) -> ArraySlice<UInt8> {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }[...]
    }

    @Test(arguments: lengths) func `a value to the end of the PDU`(count: Int) {
        let value = value(count)
        let text = hex(value)
        expectPDU(ATTReadResponse(value: value), is: "0b" + text)
        expectPDU(ATTReadBlobResponse(part: value), is: "0d" + text)
        expectPDU(ATTReadMultipleResponse(values: value), is: "0f" + text)
        expectPDU(ATTWriteRequest(handle: 0x0001, value: value), is: "12 0100" + text)
        expectPDU(ATTWriteCommand(handle: 0xFFFF, value: value), is: "52 ffff" + text)
        expectPDU(ATTHandleValueNotification(handle: 0x0001, value: value), is: "1b 0100" + text)
        expectPDU(ATTHandleValueIndication(handle: 0xFFFF, value: value), is: "1d ffff" + text)
        expectPDU(ATTPrepareWriteRequest(handle: 0x0102, offset: 0xFFFF, part: value), is: "16 0201 ffff" + text)
        expectPDU(ATTPrepareWriteResponse(handle: 0x0102, offset: 0, part: value), is: "17 0201 0000" + text)
        expectPDU(
            ATTFindByTypeValueRequest(startHandle: 1, endHandle: 0xFFFF, type: 0x2800, value: value),
            is: "06 0100 ffff 0028" + text
        )
        let signature = "00000001 0123456789abcdef"
        expectPDU(
            ATTSignedWriteCommand(handle: 3, value: value, signature: pdu(signature)[...]),
            is: "d2 0300" + text + signature
        )
    }

    @Test(arguments: lengths) func `a value whose length two octets tell`(count: Int) {
        let (value, text) = (value(count), hex(value(count)))
        let length = hex([UInt8(count & 0xFF), UInt8(count >> 8)])
        expectPDU(
            ATTMultipleHandleValueNotification(entries: [
                .init(handle: 3, value: value), .init(handle: 4, value: []), .init(handle: 5, value: value),
            ]),
            is: "23 0300" + length + text + "0400 0000 0500" + length + text
        )
        expectPDU(
            ATTReadMultipleVariableResponse(entries: [
                .init(length: UInt16(count), value: value), .init(length: 0, value: []),
                .init(length: UInt16(count), value: value),
            ]),
            is: "21" + length + text + "0000" + length + text
        )
    }

    @Test(arguments: [0, 1, 2, 19, 20, 251, 252, 253]) func `values whose length one octet tells`(count: Int) {
        let (value, text) = (value(count), hex(value(count)))
        expectPDU(
            ATTReadByTypeResponse(entries: [.init(handle: 1, value: value), .init(handle: 0xFFFF, value: value)]),
            is: "09" + hex([UInt8(count + 2)]) + "0100" + text + "ffff" + text
        )
        guard count <= 251 else { return }
        expectPDU(
            ATTReadByGroupTypeResponse(entries: [
                .init(handle: 1, groupEndHandle: 2, value: value),
                .init(handle: 3, groupEndHandle: 0xFFFF, value: value),
            ]),
            is: "11" + hex([UInt8(count + 4)]) + "0100 0200" + text + "0300 ffff" + text
        )
    }

    @Test(arguments: [(23, 5, 1), (247, 61, 13), (517, 128, 28)])
    func `lists as long as the MTU lets them be`(mtu: Int, shorts: Int, longs: Int) throws {
        let handles = (1...UInt16(shorts)).map { $0 }
        let text = handles.map { hex([UInt8($0 & 0xFF), UInt8($0 >> 8)]) }
        let information = ATTFindInformationResponse(
            format: .bits16,
            entries: handles.map { .init(handle: $0, type: BluetoothUUID(0x2902)) }
        )
        expectPDU(information, is: "05 01" + text.map { $0 + "0229" }.joined())
        #expect(information.encoded.count <= mtu && information.encoded.count + 4 > mtu)

        let own: BluetoothUUID = "00010203-0405-0607-0809-0A0B0C0D0E0F"
        let wide = ATTFindInformationResponse(
            format: .bits128,
            entries: handles.prefix(longs).map { .init(handle: $0, type: own) }
        )
        expectPDU(wide, is: "05 02" + text.prefix(longs).map { $0 + "0f0e0d0c0b0a09080706050403020100" }.joined())
        #expect(wide.encoded.count <= mtu && wide.encoded.count + 18 > mtu)

        let groups = ATTFindByTypeValueResponse(entries: handles.map { .init(handle: $0, groupEndHandle: $0) })
        expectPDU(groups, is: "07" + text.map { $0 + $0 }.joined())

        let several = ATTReadMultipleRequest(handles: handles)
        expectPDU(several, is: "0e" + text.joined())
        expectPDU(ATTReadMultipleVariableRequest(handles: handles), is: "20" + text.joined())
    }

    @Test(arguments: [0, 22, 23, 24, 512, 517, 0xFFFF]) func `an MTU of any size is told as it is`(mtu: Int) {
        let octets = hex([UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
        expectPDU(ATTExchangeMTURequest(clientMTU: UInt16(mtu)), is: "02" + octets)
        expectPDU(ATTExchangeMTUResponse(serverMTU: UInt16(mtu)), is: "03" + octets)
    }

    @Test(arguments: [0x0000, 0x0001, 0x00FF, 0x0100, 0xFFFF]) func `a handle or an offset of any size`(number: Int) {
        let (short, octets) = (UInt16(number), hex([UInt8(number & 0xFF), UInt8(number >> 8)]))
        expectPDU(ATTReadRequest(handle: short), is: "0a" + octets)
        expectPDU(ATTReadBlobRequest(handle: short, offset: short), is: "0c" + octets + octets)
        expectPDU(ATTFindInformationRequest(startHandle: short, endHandle: short), is: "04" + octets + octets)
        expectPDU(ATTErrorResponse(request: .readRequest, handle: short, error: .invalidHandle), is: "010a\(octets)01")
        expectPDU(
            ATTReadByTypeRequest(startHandle: short, endHandle: short, type: BluetoothUUID(0x2803)),
            is: "08" + octets + octets + "0328"
        )
        expectPDU(
            ATTReadByGroupTypeRequest(startHandle: short, endHandle: short, groupType: BluetoothUUID(0x2800)),
            is: "10" + octets + octets + "0028"
        )
    }

    // MARK: - Whatever is missing

    /// A PDU with nothing in it but what it must have, and how it is decoded.
    struct Least: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var octets: [UInt8]
        /// Whether more may follow.
        var mayBeLonger: Bool
        var decode: @Sendable ([UInt8]) throws(ATTDecodingError) -> Void

        init<P: ATTPDU>(_ type: P.Type, _ hexText: String, mayBeLonger: Bool = false) {
            testDescription = "\(P.opcode)"
            octets = pdu(hexText)
            self.mayBeLonger = mayBeLonger
            decode = { octets throws(ATTDecodingError) in _ = try P(decoding: octets) }
        }
    }

    /// Every PDU of the specification, 3.4.8, in its order.
    static let least = [
        Least(ATTErrorResponse.self, "01 0a 0300 02"),
        Least(ATTExchangeMTURequest.self, "02 1700"),
        Least(ATTExchangeMTUResponse.self, "03 1700"),
        Least(ATTFindInformationRequest.self, "04 0100 ffff"),
        Least(ATTFindInformationResponse.self, "05 01 0100 0028"),
        Least(ATTFindByTypeValueRequest.self, "06 0100 ffff 0028", mayBeLonger: true),
        Least(ATTFindByTypeValueResponse.self, "07 0100 0700"),
        Least(ATTReadByTypeRequest.self, "08 0100 ffff 0328"),
        Least(ATTReadByTypeResponse.self, "09 02 0300"),
        Least(ATTReadRequest.self, "0a 0300"),
        Least(ATTReadResponse.self, "0b", mayBeLonger: true),
        Least(ATTReadBlobRequest.self, "0c 0300 1600"),
        Least(ATTReadBlobResponse.self, "0d", mayBeLonger: true),
        Least(ATTReadMultipleRequest.self, "0e 0300 0500"),
        Least(ATTReadMultipleResponse.self, "0f", mayBeLonger: true),
        Least(ATTReadByGroupTypeRequest.self, "10 0100 ffff 0028"),
        Least(ATTReadByGroupTypeResponse.self, "11 04 0100 0700"),
        Least(ATTWriteRequest.self, "12 0300", mayBeLonger: true),
        Least(ATTWriteResponse.self, "13"),
        Least(ATTPrepareWriteRequest.self, "16 0300 0000", mayBeLonger: true),
        Least(ATTPrepareWriteResponse.self, "17 0300 0000", mayBeLonger: true),
        Least(ATTExecuteWriteRequest.self, "18 01"),
        Least(ATTExecuteWriteResponse.self, "19"),
        Least(ATTHandleValueNotification.self, "1b 0300", mayBeLonger: true),
        Least(ATTHandleValueIndication.self, "1d 0300", mayBeLonger: true),
        Least(ATTHandleValueConfirmation.self, "1e"),
        Least(ATTReadMultipleVariableRequest.self, "20 0300 0500"),
        Least(ATTReadMultipleVariableResponse.self, "21 0000"),
        Least(ATTMultipleHandleValueNotification.self, "23 0300 0000"),
        Least(ATTWriteCommand.self, "52 0300", mayBeLonger: true),
        Least(ATTSignedWriteCommand.self, "d2 0300 000000000000000000000000", mayBeLonger: true),
    ]

    @Test func `these are all PDUs that there are`() {
        let defined = (UInt8.min...UInt8.max).filter { !"\(ATTOpcode(rawValue: $0))".hasPrefix("opcode") }
        #expect(Self.least.map { $0.octets[0] }.sorted() == defined)
        #expect(defined.count == 31)
    }

    @Test(arguments: least) func `a PDU with one octet less than it must have is refused`(tested: Least) throws {
        try tested.decode(tested.octets)
        for count in 0..<tested.octets.count {
            #expect(throws: ATTDecodingError.self, "\(count) octets") {
                try tested.decode(Array(tested.octets.prefix(count)))
            }
        }
        if tested.mayBeLonger {
            try tested.decode(tested.octets + [0])
        } else {
            #expect(throws: ATTDecodingError.self) { try tested.decode(tested.octets + [0]) }
        }
    }
}
