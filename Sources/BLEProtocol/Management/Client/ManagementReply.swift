/// The kernel's answer to a command: Command Complete, or Command Status, which has no parameters.
package struct ManagementReply: Hashable, Sendable {
    package let opcode: ManagementOpcode
    package let index: ManagementIndex
    package let status: ManagementStatus
    package let parameters: ManagementRawParameters

    package init(
        opcode: ManagementOpcode,
        index: ManagementIndex,
        status: ManagementStatus,
        parameters: ArraySlice<UInt8> = []
    ) {
        self.opcode = opcode
        self.index = index
        self.status = status
        self.parameters = ManagementRawParameters(octets: parameters)
    }

    /// Decodes an answer; `nil` when the packet is an event.
    package init?(decoding packet: ManagementPacket) throws(ManagementDecodingError) {
        let code = ManagementEventCode(rawValue: packet.code)
        guard code == .commandComplete || code == .commandStatus else { return nil }
        var reader = ByteReader(packet.parameters)
        guard let opcode = reader.uint16() else { throw ManagementDecodingError(.event(code), field: "opcode") }
        guard let status = reader.uint8() else { throw ManagementDecodingError(.event(code), field: "status") }
        self.init(
            opcode: ManagementOpcode(rawValue: opcode),
            index: packet.index,
            status: ManagementStatus(rawValue: status),
            parameters: reader.rest()
        )
    }

    /// The parameters of the answer to a command of a certain type; meaningful if the status is success.
    ///
    /// - Throws: ``ManagementDecodingError`` when it is too short.
    package func response<Command: ManagementCommand>(
        to command: Command.Type
    ) throws(ManagementDecodingError) -> Command.Response {
        var reader = ManagementReader(parameters.octets, subject: .answer(opcode))
        return try Command.Response(decoding: &reader)
    }
}
