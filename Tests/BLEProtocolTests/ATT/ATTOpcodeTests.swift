import Testing

@testable import BLEProtocol

@Suite struct ATTOpcodeTests {
    /// Source: Core Specification, Vol 3, Part F, 3.4.8.
    static let defined: [(octet: UInt8, name: String, kind: ATTOpcode.Kind)] = [
        (0x01, "Error Response", .response), (0x02, "Exchange MTU Request", .request),
        (0x03, "Exchange MTU Response", .response), (0x04, "Find Information Request", .request),
        (0x05, "Find Information Response", .response), (0x06, "Find By Type Value Request", .request),
        (0x07, "Find By Type Value Response", .response), (0x08, "Read By Type Request", .request),
        (0x09, "Read By Type Response", .response), (0x0A, "Read Request", .request),
        (0x0B, "Read Response", .response), (0x0C, "Read Blob Request", .request),
        (0x0D, "Read Blob Response", .response), (0x0E, "Read Multiple Request", .request),
        (0x0F, "Read Multiple Response", .response), (0x10, "Read By Group Type Request", .request),
        (0x11, "Read By Group Type Response", .response), (0x12, "Write Request", .request),
        (0x13, "Write Response", .response), (0x16, "Prepare Write Request", .request),
        (0x17, "Prepare Write Response", .response), (0x18, "Execute Write Request", .request),
        (0x19, "Execute Write Response", .response), (0x1B, "Handle Value Notification", .notification),
        (0x1D, "Handle Value Indication", .indication), (0x1E, "Handle Value Confirmation", .confirmation),
        (0x20, "Read Multiple Variable Request", .request), (0x21, "Read Multiple Variable Response", .response),
        (0x23, "Multiple Handle Value Notification", .notification), (0x52, "Write Command", .command),
        (0xD2, "Signed Write Command", .command),
    ]

    @Test(arguments: defined)
    func `a defined opcode has the name and the kind that the specification gives it`(
        octet: UInt8,
        name: String,
        kind: ATTOpcode.Kind
    ) {
        let opcode = ATTOpcode(rawValue: octet)
        #expect(opcode.kind == kind)
        #expect("\(opcode)" == "\(name) (0x\(hex([octet]).uppercased()))")
    }

    @Test func `an undefined opcode is a command where the command bit is set, and unknown elsewhere`() {
        for octet: UInt8 in [0x00, 0x14, 0x15, 0x1A, 0x1C, 0x1F, 0x22, 0x24, 0x3F, 0x80, 0x92] {
            #expect(ATTOpcode(rawValue: octet).kind == .unknown)
        }
        for octet: UInt8 in [0x40, 0x41, 0x7F, 0xC0, 0xFF] {
            #expect(ATTOpcode(rawValue: octet).kind == .command)
        }
    }

    @Test func `the command bit is set in commands alone`() {
        #expect(ATTOpcode.signedWriteCommand.isCommand)
        #expect(ATTOpcode.writeCommand.isCommand)
        #expect(!ATTOpcode.writeRequest.isCommand)
    }

    @Test func `a description has the name and the octet, or the octet alone`() {
        #expect("\(ATTOpcode.readByTypeRequest)" == "Read By Type Request (0x08)")
        #expect("\(ATTOpcode(rawValue: 0x3F))" == "opcode 0x3F")
    }
}
