/// The first octet of every ATT PDU; unknown opcodes are kept.
///
/// Source: Core Specification, Vol 3, Part F, 3.3.1 and 3.4.8.
package struct ATTOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let errorResponse = ATTOpcode(rawValue: 0x01)
    package static let exchangeMTURequest = ATTOpcode(rawValue: 0x02)
    package static let exchangeMTUResponse = ATTOpcode(rawValue: 0x03)
    package static let findInformationRequest = ATTOpcode(rawValue: 0x04)
    package static let findInformationResponse = ATTOpcode(rawValue: 0x05)
    package static let findByTypeValueRequest = ATTOpcode(rawValue: 0x06)
    package static let findByTypeValueResponse = ATTOpcode(rawValue: 0x07)
    package static let readByTypeRequest = ATTOpcode(rawValue: 0x08)
    package static let readByTypeResponse = ATTOpcode(rawValue: 0x09)
    package static let readRequest = ATTOpcode(rawValue: 0x0A)
    package static let readResponse = ATTOpcode(rawValue: 0x0B)
    package static let readBlobRequest = ATTOpcode(rawValue: 0x0C)
    package static let readBlobResponse = ATTOpcode(rawValue: 0x0D)
    package static let readMultipleRequest = ATTOpcode(rawValue: 0x0E)
    package static let readMultipleResponse = ATTOpcode(rawValue: 0x0F)
    package static let readByGroupTypeRequest = ATTOpcode(rawValue: 0x10)
    package static let readByGroupTypeResponse = ATTOpcode(rawValue: 0x11)
    package static let writeRequest = ATTOpcode(rawValue: 0x12)
    package static let writeResponse = ATTOpcode(rawValue: 0x13)
    package static let prepareWriteRequest = ATTOpcode(rawValue: 0x16)
    package static let prepareWriteResponse = ATTOpcode(rawValue: 0x17)
    package static let executeWriteRequest = ATTOpcode(rawValue: 0x18)
    package static let executeWriteResponse = ATTOpcode(rawValue: 0x19)
    package static let handleValueNotification = ATTOpcode(rawValue: 0x1B)
    package static let handleValueIndication = ATTOpcode(rawValue: 0x1D)
    package static let handleValueConfirmation = ATTOpcode(rawValue: 0x1E)
    package static let readMultipleVariableRequest = ATTOpcode(rawValue: 0x20)
    package static let readMultipleVariableResponse = ATTOpcode(rawValue: 0x21)
    package static let multipleHandleValueNotification = ATTOpcode(rawValue: 0x23)
    package static let writeCommand = ATTOpcode(rawValue: 0x52)
    package static let signedWriteCommand = ATTOpcode(rawValue: 0xD2)
}

// MARK: - What the octet means

extension ATTOpcode {
    /// The six types of PDU, and the opcodes that the specification doesn't define.
    package enum Kind: Hashable, Sendable {
        /// From client to server; the server answers.
        case request
        /// From server to client, the answer to a request; the Error Response too.
        case response
        /// From client to server, without an answer. Includes every undefined opcode with the command bit: a server
        /// drops those that it doesn't know.
        case command
        /// From server to client, without an answer.
        case notification
        /// From server to client; the client confirms.
        case indication
        /// From client to server, the answer to an indication.
        case confirmation
        /// An undefined opcode without the command bit: a server answers it with Request Not Supported.
        case unknown
    }

    /// The half of a device that receives the PDU: requests, commands, confirmations and unknown PDUs go to the server,
    /// the others to the client.
    package var kind: Kind {
        switch rawValue {
        case 0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20: .request
        case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21: .response
        case 0x1B, 0x23: .notification
        case 0x1D: .indication
        case 0x1E: .confirmation
        default: isCommand ? .command : .unknown
        }
    }

    /// Whether the command bit (0x40) is set.
    package var isCommand: Bool { rawValue & 0x40 != 0 }
}

extension ATTOpcode: CustomStringConvertible {
    /// The specification's name and the octet, `Read Request (0x0A)`, or the octet alone.
    package var description: String {
        name.map { "\($0) (\(rawValue.hexadecimal))" } ?? "opcode \(rawValue.hexadecimal)"
    }

    private var name: String? {
        switch self {
        case .errorResponse: "Error Response"
        case .exchangeMTURequest: "Exchange MTU Request"
        case .exchangeMTUResponse: "Exchange MTU Response"
        case .findInformationRequest: "Find Information Request"
        case .findInformationResponse: "Find Information Response"
        case .findByTypeValueRequest: "Find By Type Value Request"
        case .findByTypeValueResponse: "Find By Type Value Response"
        case .readByTypeRequest: "Read By Type Request"
        case .readByTypeResponse: "Read By Type Response"
        case .readRequest: "Read Request"
        case .readResponse: "Read Response"
        case .readBlobRequest: "Read Blob Request"
        case .readBlobResponse: "Read Blob Response"
        case .readMultipleRequest: "Read Multiple Request"
        case .readMultipleResponse: "Read Multiple Response"
        case .readByGroupTypeRequest: "Read By Group Type Request"
        case .readByGroupTypeResponse: "Read By Group Type Response"
        case .writeRequest: "Write Request"
        case .writeResponse: "Write Response"
        case .prepareWriteRequest: "Prepare Write Request"
        case .prepareWriteResponse: "Prepare Write Response"
        case .executeWriteRequest: "Execute Write Request"
        case .executeWriteResponse: "Execute Write Response"
        case .handleValueNotification: "Handle Value Notification"
        case .handleValueIndication: "Handle Value Indication"
        case .handleValueConfirmation: "Handle Value Confirmation"
        case .readMultipleVariableRequest: "Read Multiple Variable Request"
        case .readMultipleVariableResponse: "Read Multiple Variable Response"
        case .multipleHandleValueNotification: "Multiple Handle Value Notification"
        case .writeCommand: "Write Command"
        case .signedWriteCommand: "Signed Write Command"
        default: nil
        }
    }
}
