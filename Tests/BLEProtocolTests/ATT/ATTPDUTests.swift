import Testing

@testable import BLEProtocol

/// Every PDU in both directions: what the octets mean, and what the value is sent as.
@Suite struct ATTPDUTests {
    @Test func `error response`() {
        expectPDU(
            ATTErrorResponse(request: .readRequest, handle: 0x0003, error: .readNotPermitted),
            is: "01 0a 0300 02"
        )
        expectPDU(
            ATTErrorResponse(request: ATTOpcode(rawValue: 0x3F), handle: 0, error: ATTError(rawValue: 0x9E)),
            is: "01 3f 0000 9e"
        )
    }

    @Test func `exchange MTU`() {
        expectPDU(ATTExchangeMTURequest(clientMTU: 517), is: "02 0502")
        expectPDU(ATTExchangeMTURequest(clientMTU: 23), is: "02 1700")
        expectPDU(ATTExchangeMTUResponse(serverMTU: 0xFFFF), is: "03 ffff")
        expectPDU(ATTExchangeMTUResponse(serverMTU: 0), is: "03 0000")
    }

    @Test func `find information with 16-bit types`() {
        expectPDU(ATTFindInformationRequest(startHandle: 0x13, endHandle: 0x16), is: "04 1300 1600")
        let response = ATTFindInformationResponse(
            format: .bits16,
            entries: [
                .init(handle: 0x13, type: BluetoothUUID(0x2902)), .init(handle: 0x14, type: BluetoothUUID(0x2903)),
            ]
        )
        expectPDU(response, is: "05 01 1300 0229 1400 0329")
    }

    @Test func `find information with 128-bit types, also for a type that has a 16-bit form`() throws {
        let own: BluetoothUUID = "00010203-0405-0607-0809-0A0B0C0D0E0F"
        expectPDU(
            ATTFindInformationResponse(format: .bits128, entries: [.init(handle: 0x21, type: own)]),
            is: "05 02 2100 0f0e0d0c0b0a09080706050403020100"
        )
        expectPDU(
            ATTFindInformationResponse(format: .bits128, entries: [.init(handle: 4, type: BluetoothUUID(0x2902))]),
            is: "05 02 0400 fb349b5f80000080001000000229 0000"
        )
    }

    @Test func `find by type value`() throws {
        expectPDU(
            ATTFindByTypeValueRequest(startHandle: 1, endHandle: 0xFFFF, type: 0x2800, value: [0x00, 0x18]),
            is: "06 0100 ffff 0028 0018"
        )
        expectPDU(
            ATTFindByTypeValueRequest(startHandle: 1, endHandle: 9, type: 0x2A00, value: []),
            is: "06 0100 0900 002a"
        )
        let entries: [ATTFindByTypeValueResponse.Entry] = [
            .init(handle: 1, groupEndHandle: 7), .init(handle: 0x20, groupEndHandle: 0xFFFF),
        ]
        expectPDU(ATTFindByTypeValueResponse(entries: entries), is: "07 0100 0700 2000 ffff")
    }

    @Test func `read by type`() throws {
        let own: BluetoothUUID = "00010203-0405-0607-0809-0A0B0C0D0E0F"
        expectPDU(
            ATTReadByTypeRequest(startHandle: 1, endHandle: 0xFFFF, type: AttributeType.characteristic),
            is: "08 0100 ffff 0328"
        )
        expectPDU(
            ATTReadByTypeRequest(startHandle: 1, endHandle: 0xFFFF, type: own),
            is: "08 0100 ffff 0f0e0d0c0b0a09080706050403020100"
        )
        let response = ATTReadByTypeResponse(entries: [
            .init(handle: 2, value: [0x02, 0x03, 0x00, 0x00, 0x2A]), .init(handle: 4, value: [0x02, 5, 0, 0x01, 0x2A]),
        ])
        expectPDU(response, is: "09 07 0200 020300002a 0400 020500012a")
        expectPDU(ATTReadByTypeResponse(entries: [.init(handle: 9, value: [])]), is: "09 02 0900")
    }

    @Test func `read by type carries a value of 253 octets, the longest`() {
        let value = [UInt8](repeating: 0xA5, count: 253)
        expectPDU(
            ATTReadByTypeResponse(entries: [.init(handle: 7, value: value[...])]),
            is: "09 ff 0700" + hex(value)
        )
    }

    @Test func `a 32-bit UUID travels as 128 bits`() throws {
        let wide: BluetoothUUID = "12345678"
        expectPDU(
            ATTReadByTypeRequest(startHandle: 1, endHandle: 2, type: wide),
            is: "08 0100 0200 fb349b5f8000008000100000 78563412"
        )
    }

    @Test func `read and read blob`() {
        expectPDU(ATTReadRequest(handle: 0x1234), is: "0a 3412")
        expectPDU(ATTReadResponse(value: []), is: "0b")
        expectPDU(ATTReadResponse(value: [1, 2, 3]), is: "0b 010203")
        let longest = [UInt8](repeating: 0x5A, count: 516)
        expectPDU(ATTReadResponse(value: longest[...]), is: "0b" + hex(longest))
        expectPDU(ATTReadBlobRequest(handle: 3, offset: 511), is: "0c 0300 ff01")
        expectPDU(ATTReadBlobResponse(part: []), is: "0d")
        expectPDU(ATTReadBlobResponse(part: [0xFF]), is: "0d ff")
    }

    @Test func `read multiple`() {
        expectPDU(ATTReadMultipleRequest(handles: [3, 7]), is: "0e 0300 0700")
        expectPDU(ATTReadMultipleResponse(values: [1, 2, 3]), is: "0f 010203")
        expectPDU(ATTReadMultipleResponse(values: []), is: "0f")
    }

    @Test func `read by group type`() {
        expectPDU(
            ATTReadByGroupTypeRequest(startHandle: 1, endHandle: 0xFFFF, groupType: AttributeType.primaryService),
            is: "10 0100 ffff 0028"
        )
        let response = ATTReadByGroupTypeResponse(entries: [
            .init(handle: 0x10, groupEndHandle: 0x13, value: [0x00, 0x18]),
            .init(handle: 0x20, groupEndHandle: 0x29, value: [0xB0, 0x68]),
        ])
        expectPDU(response, is: "11 06 1000 1300 0018 2000 2900 b068")
        let value = [UInt8](repeating: 0xA5, count: 251)
        expectPDU(
            ATTReadByGroupTypeResponse(entries: [.init(handle: 7, groupEndHandle: 8, value: value[...])]),
            is: "11 ff 0700 0800" + hex(value)
        )
    }

    @Test func `read multiple variable, with the last value cut`() {
        expectPDU(ATTReadMultipleVariableRequest(handles: [3, 7, 9]), is: "20 0300 0700 0900")
        let response = ATTReadMultipleVariableResponse(entries: [
            .init(length: 2, value: [0xAA, 0xBB]), .init(length: 0, value: []), .init(length: 512, value: [0xCC]),
        ])
        expectPDU(response, is: "21 0200 aabb 0000 0002 cc")
        #expect(response.entries.map(\.isCut) == [false, false, true])
    }

    @Test func `write and write command`() {
        expectPDU(ATTWriteRequest(handle: 4, value: [0x01, 0x00]), is: "12 0400 0100")
        expectPDU(ATTWriteRequest(handle: 4, value: []), is: "12 0400")
        expectPDU(ATTWriteResponse(), is: "13")
        expectPDU(ATTWriteCommand(handle: 7, value: [1, 2, 3]), is: "52 0700 010203")
        let longest = [UInt8](repeating: 0x42, count: 512)
        expectPDU(ATTWriteCommand(handle: 7, value: longest[...]), is: "52 0700" + hex(longest))
    }

    @Test func `signed write command, the sample of the specification`() {
        // Vol 3, Part F, 3.4.5.4: counter 1, and eight octets of code.
        expectPDU(
            ATTSignedWriteCommand(
                handle: 0x0012,
                value: [0x13, 0x37],
                signature: pdu("01000000 f1871e933c900ff2")[...]
            ),
            is: "d2 1200 1337 01000000 f1871e933c900ff2"
        )
    }

    @Test func `prepare and execute write`() {
        expectPDU(ATTPrepareWriteRequest(handle: 7, offset: 507, part: [0xFF, 0xFE]), is: "16 0700 fb01 fffe")
        expectPDU(ATTPrepareWriteRequest(handle: 7, offset: 0, part: []), is: "16 0700 0000")
        expectPDU(ATTPrepareWriteResponse(handle: 7, offset: 507, part: [0xFF, 0xFE]), is: "17 0700 fb01 fffe")
        expectPDU(ATTExecuteWriteRequest(.cancel), is: "18 00")
        expectPDU(ATTExecuteWriteRequest(.write), is: "18 01")
        expectPDU(ATTExecuteWriteRequest(.init(rawValue: 2)), is: "18 02")
        expectPDU(ATTExecuteWriteResponse(), is: "19")
    }

    @Test func `notification, indication and confirmation`() {
        expectPDU(ATTHandleValueNotification(handle: 3, value: [1, 2, 3]), is: "1b 0300 010203")
        expectPDU(ATTHandleValueNotification(handle: 3, value: []), is: "1b 0300")
        expectPDU(ATTHandleValueIndication(handle: 8, value: [1]), is: "1d 0800 01")
        expectPDU(ATTHandleValueConfirmation(), is: "1e")
    }

    @Test func `multiple handle value notification, of two and of one`() {
        let two = ATTMultipleHandleValueNotification(entries: [
            .init(handle: 3, value: [0xAA]), .init(handle: 0xFFFF, value: []),
        ])
        expectPDU(two, is: "23 0300 0100 aa ffff 0000")
        expectPDU(
            ATTMultipleHandleValueNotification(entries: [.init(handle: 3, value: [0xAA, 0xBB])]),
            is: "23 0300 0200 aabb"
        )
    }

    @Test func `values are slices of the octets that were decoded`() throws {
        let octets = pdu("1b 0300 010203")
        let notification = try ATTHandleValueNotification(decoding: octets)
        #expect(notification.value.indices == 3..<6)
    }
}
