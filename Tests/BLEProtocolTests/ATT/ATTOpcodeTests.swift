import Testing

@testable import BLEProtocol

@Suite struct ATTOpcodeTests {
    @Test(
        arguments: [
            (0x01, ATTOpcode.Kind.response), (0x02, .request), (0x03, .response), (0x0A, .request), (0x17, .response),
            (0x1B, .notification), (0x1D, .indication), (0x1E, .confirmation), (0x20, .request), (0x21, .response),
            (0x23, .notification), (0x52, .command), (0xD2, .command),
        ] as [(UInt8, ATTOpcode.Kind)]
    )
    func `a defined opcode has the kind that the specification gives it`(octet: UInt8, kind: ATTOpcode.Kind) {
        #expect(ATTOpcode(rawValue: octet).kind == kind)
    }

    @Test func `an undefined opcode is a command where the command bit is set, and unknown elsewhere`() {
        for octet: UInt8 in [0x00, 0x14, 0x15, 0x1A, 0x1C, 0x1F, 0x22, 0x24, 0x3F, 0x80, 0x92] {
            #expect(ATTOpcode(rawValue: octet).kind == .unknown)
        }
        for octet: UInt8 in [0x40, 0x41, 0x7F, 0xC0, 0xFF] {
            #expect(ATTOpcode(rawValue: octet).kind == .command)
        }
    }

    @Test func `the signature bit is set in the Signed Write Command alone`() {
        #expect(ATTOpcode.signedWriteCommand.hasSignature)
        #expect(ATTOpcode.signedWriteCommand.isCommand)
        #expect(!ATTOpcode.writeCommand.hasSignature)
        #expect(!ATTOpcode.writeRequest.isCommand)
    }

    @Test func `a description has the name and the octet, or the octet alone`() {
        #expect("\(ATTOpcode.readByTypeRequest)" == "Read By Type Request (0x08)")
        #expect("\(ATTOpcode(rawValue: 0x3F))" == "opcode 0x3F")
    }
}
