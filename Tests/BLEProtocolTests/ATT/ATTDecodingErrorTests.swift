import Testing

@testable import BLEProtocol

/// What a peer may send instead: each is an error with its place, never a trap.
@Suite struct ATTDecodingErrorTests {
    @Test func `no octets, and another opcode`() {
        expectRefusal(ATTReadRequest.self, of: "", .truncated, at: 0)
        expectRefusal(ATTReadRequest.self, of: "0b 0300", .wrongOpcode, at: 0)
    }

    @Test func `PDUs of fixed length are refused when they are shorter or longer`() {
        expectRefusal(ATTErrorResponse.self, of: "01 0a 0300", .truncated, at: 4)
        expectRefusal(ATTErrorResponse.self, of: "01 0a 0300 02 00", .trailingOctets, at: 5)
        expectRefusal(ATTExchangeMTURequest.self, of: "02 05", .truncated, at: 1)
        expectRefusal(ATTExchangeMTUResponse.self, of: "03 0502 00", .trailingOctets, at: 3)
        expectRefusal(ATTFindInformationRequest.self, of: "04 1300 16", .truncated, at: 3)
        expectRefusal(ATTReadRequest.self, of: "0a 03", .truncated, at: 1)
        expectRefusal(ATTReadBlobRequest.self, of: "0c 0300 0000 00", .trailingOctets, at: 5)
        expectRefusal(ATTWriteResponse.self, of: "13 00", .trailingOctets, at: 1)
        expectRefusal(ATTExecuteWriteRequest.self, of: "18", .truncated, at: 1)
        expectRefusal(ATTExecuteWriteResponse.self, of: "19 00", .trailingOctets, at: 1)
        expectRefusal(ATTHandleValueConfirmation.self, of: "1e 00", .trailingOctets, at: 1)
    }

    @Test func `the fixed part of PDUs of any length must be whole`() {
        expectRefusal(ATTFindByTypeValueRequest.self, of: "06 0100 ffff 00", .truncated, at: 5)
        expectRefusal(ATTWriteRequest.self, of: "12 04", .truncated, at: 1)
        expectRefusal(ATTWriteCommand.self, of: "52", .truncated, at: 1)
        expectRefusal(ATTPrepareWriteRequest.self, of: "16 0700 00", .truncated, at: 3)
        expectRefusal(ATTPrepareWriteResponse.self, of: "17 0700", .truncated, at: 3)
        expectRefusal(ATTHandleValueNotification.self, of: "1b 03", .truncated, at: 1)
        expectRefusal(ATTHandleValueIndication.self, of: "1d", .truncated, at: 1)
    }

    @Test func `a signature of eleven octets is too short`() {
        expectRefusal(ATTSignedWriteCommand.self, of: "d2 1200 0102030405060708090a0b", .truncated, at: 3)
    }

    @Test func `a type of 4 or 3 octets is no UUID of ATT`() {
        expectRefusal(ATTReadByTypeRequest.self, of: "08 0100 ffff 78563412", .invalidUUIDLength, at: 5)
        expectRefusal(ATTReadByGroupTypeRequest.self, of: "10 0100 ffff 002800", .invalidUUIDLength, at: 5)
        expectRefusal(ATTReadByTypeRequest.self, of: "08 0100 ffff", .invalidUUIDLength, at: 5)
    }

    @Test func `a list's entry length of zero, or too small for its fixed part, is refused`() {
        expectRefusal(ATTReadByTypeResponse.self, of: "09 00 0200 02", .invalidEntryLength, at: 1)
        expectRefusal(ATTReadByTypeResponse.self, of: "09 01 0200 02", .invalidEntryLength, at: 1)
        expectRefusal(ATTReadByGroupTypeResponse.self, of: "11 00 0200 0200", .invalidEntryLength, at: 1)
        expectRefusal(ATTReadByGroupTypeResponse.self, of: "11 03 0200 02", .invalidEntryLength, at: 1)
    }

    @Test func `a list must hold whole entries, and one at least`() {
        expectRefusal(ATTReadByTypeResponse.self, of: "09 07 0200 0203", .incompleteEntry, at: 2)
        expectRefusal(ATTReadByTypeResponse.self, of: "09 07", .tooFewEntries, at: 2)
        expectRefusal(ATTReadByTypeResponse.self, of: "09", .truncated, at: 1)
        expectRefusal(ATTReadByGroupTypeResponse.self, of: "11 06 1000 1300 0018 20", .incompleteEntry, at: 2)
        expectRefusal(ATTReadByGroupTypeResponse.self, of: "11 06", .tooFewEntries, at: 2)
        expectRefusal(ATTFindInformationResponse.self, of: "05 01 1300 02", .incompleteEntry, at: 2)
        expectRefusal(ATTFindInformationResponse.self, of: "05 02", .tooFewEntries, at: 2)
        expectRefusal(ATTFindByTypeValueResponse.self, of: "07 0100 07", .incompleteEntry, at: 1)
        expectRefusal(ATTFindByTypeValueResponse.self, of: "07", .tooFewEntries, at: 1)
    }

    @Test func `an undefined format of Find Information is refused`() {
        expectRefusal(ATTFindInformationResponse.self, of: "05 00 1300 0229", .invalidFormat, at: 1)
        expectRefusal(ATTFindInformationResponse.self, of: "05 03 1300 0229", .invalidFormat, at: 1)
    }

    @Test func `reading multiple values takes two whole handles at least`() {
        expectRefusal(ATTReadMultipleRequest.self, of: "0e 0300", .tooFewEntries, at: 1)
        expectRefusal(ATTReadMultipleRequest.self, of: "0e 0300 0700 09", .incompleteEntry, at: 1)
        expectRefusal(ATTReadMultipleVariableRequest.self, of: "20", .tooFewEntries, at: 1)
    }

    @Test func `a length field must be whole, and a tuple of a notification too`() {
        expectRefusal(ATTReadMultipleVariableResponse.self, of: "21 0100 aa 02", .truncated, at: 4)
        expectRefusal(ATTReadMultipleVariableResponse.self, of: "21", .tooFewEntries, at: 1)
        expectRefusal(ATTMultipleHandleValueNotification.self, of: "23 0300 0200 aa", .truncated, at: 5)
        expectRefusal(ATTMultipleHandleValueNotification.self, of: "23 0300 02", .truncated, at: 3)
        expectRefusal(ATTMultipleHandleValueNotification.self, of: "23", .tooFewEntries, at: 1)
    }

    @Test func `the error says which PDU, why and where`() {
        let error = ATTDecodingError(opcode: .readByTypeResponse, offset: 1, reason: .truncated)
        #expect("\(error)" == "Read By Type Response (0x09): the PDU is too short, at octet 1")
    }
}
