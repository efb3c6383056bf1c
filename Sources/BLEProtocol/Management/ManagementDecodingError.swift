/// A management packet that is shorter than its fields, or whose length field is wrong.
///
/// It names the packet and the field, never the octets: a packet may hold keys.
package struct ManagementDecodingError: Error, Hashable, Sendable {
    /// The packet that could not be decoded.
    package enum Subject: Hashable, Sendable {
        /// The header of six octets.
        case frame
        /// The parameters of the answer to a command.
        case answer(ManagementOpcode)
        /// The parameters of an event.
        case event(ManagementEventCode)
    }

    package let subject: Subject

    /// The first field that is incomplete.
    package let field: String

    package init(_ subject: Subject, field: String) {
        self.subject = subject
        self.field = field
    }
}

extension ManagementDecodingError: CustomStringConvertible {
    package var description: String {
        switch subject {
        case .frame: "management packet: bad \(field)"
        case .answer(let opcode): "answer to \(opcode): too short for \(field)"
        case .event(let code): "event \(code): too short for \(field)"
        }
    }
}
