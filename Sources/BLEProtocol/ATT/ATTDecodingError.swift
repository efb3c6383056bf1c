/// Why octets are not a PDU of the expected kind.
package struct ATTDecodingError: Error, Hashable, Sendable {
    /// What is wrong.
    package enum Reason: String, Hashable, Sendable {
        /// The PDU ends inside a field, or has no octets at all.
        case truncated = "the PDU is too short"
        /// Octets follow the last field.
        case trailingOctets = "the PDU is too long"
        /// The first octet is not the expected opcode.
        case wrongOpcode = "the opcode is another"
        /// A UUID is neither 2 nor 16 octets long.
        case invalidUUIDLength = "a UUID has neither 2 nor 16 octets"
        /// The format octet of a Find Information Response is neither 1 nor 2.
        case invalidFormat = "the format octet is undefined"
        /// The length octet of a list is too small to hold the fixed part of an entry, or is not a defined one.
        case invalidEntryLength = "the length of the list's entries is impossible"
        /// A list holds less than a whole number of entries.
        case incompleteEntry = "the list's length is not a multiple of its entries'"
        /// A list holds fewer entries than the specification requires.
        case tooFewEntries = "the list has too few entries"
    }

    /// The opcode of the expected PDU.
    package var opcode: ATTOpcode

    /// The place in the PDU, in octets from its opcode.
    package var offset: Int

    /// What is wrong.
    package var reason: Reason

    package init(opcode: ATTOpcode, offset: Int, reason: Reason) {
        self.opcode = opcode
        self.offset = offset
        self.reason = reason
    }
}

extension ATTDecodingError: CustomStringConvertible {
    /// The PDU, the reason and the place: `Read By Type Response (0x09): the PDU is too short, at octet 1`.
    package var description: String { "\(opcode): \(reason.rawValue), at octet \(offset)" }
}
