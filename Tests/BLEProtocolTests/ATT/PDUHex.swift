import Testing

@testable import BLEProtocol

/// The octets of a hex string; blanks are for the eye.
func pdu(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }
    precondition(digits.count.isMultiple(of: 2) && digits.allSatisfy(\.isHexDigit), "not hex: \(hex)")
    var octets: [UInt8] = []
    var index = digits.startIndex
    while index < digits.endIndex {
        let next = digits.index(index, offsetBy: 2)
        octets.append(UInt8(digits[index..<next], radix: 16) ?? 0)
        index = next
    }
    return octets
}

func hex(_ octets: some Sequence<UInt8>) -> String {
    octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Both directions: the value is what the octets mean, the octets are what the value is sent as.
func expectPDU<P: ATTPDU>(_ value: P, is hexText: String, sourceLocation: SourceLocation = #_sourceLocation) {
    let octets = pdu(hexText)
    #expect(hex(value.encoded) == hex(octets), sourceLocation: sourceLocation)
    do throws(ATTDecodingError) {
        let decoded = try P(decoding: octets)
        #expect(decoded == value, sourceLocation: sourceLocation)
    } catch {
        Issue.record("\(hexText): \(error)", sourceLocation: sourceLocation)
    }
}

/// The octets are refused, with this reason at this octet.
func expectRefusal<P: ATTPDU>(
    _ type: P.Type,
    of hexText: String,
    _ reason: ATTDecodingError.Reason,
    at offset: Int,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    do throws(ATTDecodingError) {
        let decoded = try P(decoding: pdu(hexText))
        Issue.record("\(hexText) was taken for \(decoded)", sourceLocation: sourceLocation)
    } catch {
        let expected = ATTDecodingError(opcode: P.opcode, offset: offset, reason: reason)
        #expect(error == expected, sourceLocation: sourceLocation)
    }
}
