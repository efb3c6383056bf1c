/// Removes the values from the record of a link, and keeps its structure: opcodes, handles, types, lengths, errors.
///
/// Octets of values become zeros, so that the rest can be decoded as before.
package struct ATTRedactor: Sendable {
    /// The types requested by a Read By Type that is not answered yet: of the PDUs sent, and of those received.
    private var asked: (sent: BluetoothUUID?, received: BluetoothUUID?)

    package init() {}

    /// A PDU without its values, and whether it belongs to the discovery of services or the exchange of the MTU.
    package mutating func redact(_ pdu: [UInt8], isSent: Bool) -> (octets: [UInt8], isStructure: Bool) {
        guard let opcode = pdu.first.map(ATTOpcode.init) else { return (pdu, false) }
        switch opcode {
        case .exchangeMTURequest, .exchangeMTUResponse, .findInformationRequest, .findInformationResponse,
            .findByTypeValueResponse, .readByGroupTypeRequest, .readByGroupTypeResponse:
            return (pdu, true)
        case .findByTypeValueRequest:
            let isOfService = pdu.count >= 7 && pdu[5] == 0x00 && pdu[6] == 0x28
            return (isOfService ? pdu : cleared(pdu, from: 7), isOfService)
        case .readByTypeRequest:
            let type = BluetoothUUID(littleEndian: pdu.dropFirst(5))
            if isSent { asked.sent = type } else { asked.received = type }
            return (pdu, type.map(AttributeType.isDeclaration) ?? false)
        case .readByTypeResponse:
            let type = isSent ? asked.received.take() : asked.sent.take()
            guard let type, AttributeType.isDeclaration(type) else { return (clearedList(pdu), false) }
            return (pdu, true)
        case .errorResponse:
            let discovery: [UInt8] = [0x02, 0x04, 0x06, 0x08, 0x10]
            return (pdu, pdu.count > 1 && discovery.contains(pdu[1]))
        case .readRequest, .readBlobRequest, .readMultipleRequest, .readMultipleVariableRequest, .writeResponse,
            .executeWriteRequest, .executeWriteResponse, .handleValueConfirmation:
            return (pdu, false)
        case .writeRequest, .writeCommand, .signedWriteCommand, .handleValueNotification, .handleValueIndication:
            return (cleared(pdu, from: 3), false)
        case .prepareWriteRequest, .prepareWriteResponse: return (cleared(pdu, from: 5), false)
        case .readMultipleVariableResponse: return (clearedEntries(pdu, behind: 0), false)
        case .multipleHandleValueNotification: return (clearedEntries(pdu, behind: 2), false)
        default: return (cleared(pdu, from: 1), false)
        }
    }

    private func cleared(_ pdu: [UInt8], from start: Int) -> [UInt8] {
        pdu.prefix(start) + [UInt8](repeating: 0, count: max(0, pdu.count - start))
    }

    /// Entries of the same length: a handle and a value.
    private func clearedList(_ pdu: [UInt8]) -> [UInt8] {
        guard pdu.count >= 2, pdu[1] >= 2 else { return cleared(pdu, from: 1) }
        let length = Int(pdu[1])
        return pdu.enumerated().map { place, octet in place < 2 || (place - 2) % length < 2 ? octet : 0 }
    }

    /// Entries with a length before the value, and `count` octets before the length.
    private func clearedEntries(_ pdu: [UInt8], behind count: Int) -> [UInt8] {
        var cleared = cleared(pdu, from: 1)
        var place = 1
        while place + count + 2 <= pdu.count {
            let head = place..<place + count + 2
            cleared.replaceSubrange(head, with: pdu[head])
            place = head.upperBound + Int(pdu[head.upperBound - 2]) + Int(pdu[head.upperBound - 1]) << 8
        }
        return cleared
    }
}

/// Advertising data without its content: names, and the data of devices and services, become zeros.
package func redacted(advertising data: [UInt8]) -> [UInt8] {
    var cleared = [UInt8](repeating: 0, count: data.count)
    var place = 0
    while place + 1 < data.count, data[place] > 0 {
        let end = min(place + 1 + Int(data[place]), data.count)
        let kept: Int =
            switch data[place + 1] {
            // Flags, lists of services, power, solicited services, appearance, interval.
            case 0x01...0x07, 0x0A, 0x12, 0x14, 0x15, 0x19, 0x1A, 0x1F: end - place - 2
            // Service data after its service; manufacturer data after its company.
            case 0x16, 0xFF: 2
            case 0x20: 4
            case 0x21: 16
            default: 0
            }
        let range = place..<min(place + 2 + kept, end)
        cleared.replaceSubrange(range, with: data[range])
        place = end
    }
    return cleared
}
