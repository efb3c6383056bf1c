import BLEProtocol

extension FuzzTarget {
    /// One PDU of the Attribute Protocol, read as each kind that there is: what decodes is sent as it came.
    static let attPDU = FuzzTarget("att-pdu", longest: 128, seeds: ATTPDUCheck.seeds) { octets in
        for kind in ATTPDUCheck.kinds { try ATTPDUCheck.check(kind, octets) }
    }
}

private enum ATTPDUCheck {
    static let kinds: [any ATTPDU.Type] = [
        ATTErrorResponse.self, ATTExchangeMTURequest.self, ATTExchangeMTUResponse.self, ATTFindInformationRequest.self,
        ATTFindInformationResponse.self, ATTFindByTypeValueRequest.self, ATTFindByTypeValueResponse.self,
        ATTReadByTypeRequest.self, ATTReadByTypeResponse.self, ATTReadRequest.self, ATTReadResponse.self,
        ATTReadBlobRequest.self, ATTReadBlobResponse.self, ATTReadMultipleRequest.self, ATTReadMultipleResponse.self,
        ATTReadByGroupTypeRequest.self, ATTReadByGroupTypeResponse.self, ATTReadMultipleVariableRequest.self,
        ATTReadMultipleVariableResponse.self, ATTWriteRequest.self, ATTWriteResponse.self, ATTWriteCommand.self,
        ATTSignedWriteCommand.self, ATTPrepareWriteRequest.self, ATTPrepareWriteResponse.self,
        ATTExecuteWriteRequest.self, ATTExecuteWriteResponse.self, ATTHandleValueNotification.self,
        ATTHandleValueIndication.self, ATTHandleValueConfirmation.self, ATTMultipleHandleValueNotification.self,
    ]

    static func check<PDU: ATTPDU>(_ kind: PDU.Type, _ octets: [UInt8]) throws {
        do throws(ATTDecodingError) {
            let pdu = try PDU(decoding: octets)
            precondition(pdu.encoded == octets, "\(PDU.opcode) is sent otherwise than it came")
        } catch {
            _ = error.description
            precondition((0...octets.count).contains(error.offset), "an error at \(error.offset)")
        }
    }

    /// A PDU of each kind, with as many octets as most of them take.
    static var seeds: [[UInt8]] {
        var seeds: [[UInt8]] = []
        for kind in kinds {
            for count: UInt8 in [0, 2, 4, 6, 7, 21] {
                // The first octet is the length of an entry, where there are entries.
                var parameters = Array(0..<count)
                if count > 5 { parameters[0] = count }
                seeds.append([kind.opcode.rawValue] + parameters)
            }
        }
        return seeds
    }
}
