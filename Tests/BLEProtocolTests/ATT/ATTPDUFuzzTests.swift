import Testing

@testable import BLEProtocol

@Suite struct ATTPDUFuzzTests {
    @Test(arguments: 0..<20)
    func `octets of any kind decode or fail, and what decodes is sent as it came`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<200 {
            let parameters = generator.octets(0...40)
            check(ATTErrorResponse.self, parameters)
            check(ATTExchangeMTURequest.self, parameters)
            check(ATTExchangeMTUResponse.self, parameters)
            check(ATTFindInformationRequest.self, parameters)
            check(ATTFindByTypeValueRequest.self, parameters)
            check(ATTFindByTypeValueResponse.self, parameters)
            check(ATTReadByTypeRequest.self, parameters)
            check(ATTReadRequest.self, parameters)
            check(ATTReadResponse.self, parameters)
            check(ATTReadBlobRequest.self, parameters)
            check(ATTReadBlobResponse.self, parameters)
            check(ATTReadMultipleRequest.self, parameters)
            check(ATTReadMultipleResponse.self, parameters)
            check(ATTReadByGroupTypeRequest.self, parameters)
            check(ATTReadMultipleVariableRequest.self, parameters)
            check(ATTReadMultipleVariableResponse.self, parameters)
            check(ATTWriteRequest.self, parameters)
            check(ATTWriteResponse.self, parameters)
            check(ATTWriteCommand.self, parameters)
            check(ATTSignedWriteCommand.self, parameters)
            check(ATTPrepareWriteRequest.self, parameters)
            check(ATTPrepareWriteResponse.self, parameters)
            check(ATTExecuteWriteRequest.self, parameters)
            check(ATTExecuteWriteResponse.self, parameters)
            check(ATTHandleValueNotification.self, parameters)
            check(ATTHandleValueIndication.self, parameters)
            check(ATTHandleValueConfirmation.self, parameters)
            check(ATTMultipleHandleValueNotification.self, parameters)
            // A list with a plausible length octet, else hardly any would decode.
            check(ATTFindInformationResponse.self, [UInt8.random(in: 0...3, using: &generator)] + parameters)
            check(ATTReadByTypeResponse.self, [UInt8.random(in: 0...8, using: &generator)] + parameters)
            check(ATTReadByGroupTypeResponse.self, [UInt8.random(in: 0...8, using: &generator)] + parameters)
        }
    }

    private func check<P: ATTPDU>(_ type: P.Type, _ parameters: [UInt8]) {
        let octets = [P.opcode.rawValue] + parameters
        guard let decoded = try? P(decoding: octets) else { return }
        #expect(decoded.encoded == octets)
    }
}
