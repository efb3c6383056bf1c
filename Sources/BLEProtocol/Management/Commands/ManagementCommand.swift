/// A command of the management protocol; its type names its answer.
package protocol ManagementCommand: Sendable {
    /// What comes with an answer whose status is success.
    associatedtype Response: ManagementResponse

    static var opcode: ManagementOpcode { get }

    /// When the command may leave, and whether others wait for its answer.
    static var scheduling: ManagementScheduling { get }

    /// How long the kernel may take to answer.
    static var timeout: Duration { get }

    /// Appends the parameters, without the packet's header.
    func encodeParameters(into writer: inout ByteWriter)
}

/// When a command may leave, and whether later commands for the same controller wait for its answer.
package enum ManagementScheduling: Hashable, Sendable {
    /// In turn; the next one leaves when this one has been answered.
    case inTurn
    /// In turn; the next one need not wait. For commands that are answered only after others have been sent.
    case inTurnWithoutHolding
    /// At once, before all that wait: an answer to a question of the kernel, or a cancellation.
    case immediately
}

/// What comes with the answer to a command, behind its status.
package protocol ManagementResponse: Hashable, Sendable {
    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError)
}

extension ManagementCommand {
    package static var scheduling: ManagementScheduling { .inTurn }
    /// Longer than the kernel may take: it waits for up to 20 s for a peer that fell silent while it was being connected
    /// to, and all that needs the controller waits behind that.
    package static var timeout: Duration { .seconds(30) }
    package func encodeParameters(into writer: inout ByteWriter) {}

    /// The command as a packet for one controller, or for none.
    package func packet(index: ManagementIndex) -> ManagementPacket {
        var writer = ByteWriter()
        encodeParameters(into: &writer)
        return ManagementPacket(code: Self.opcode.rawValue, index: index, parameters: writer.bytes[...])
    }
}

/// An answer that says no more than its status.
package struct ManagementEmptyResponse: ManagementResponse {
    package init(decoding reader: inout ManagementReader) {}
}

/// The answer to a setting: what is switched on now.
package struct ManagementSettingsResponse: ManagementResponse {
    package let settings: ManagementSettings

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        settings = ManagementSettings(rawValue: try reader.uint32("current settings"))
    }
}

/// The answer to a command about one device: its address once more.
package struct ManagementAddressResponse: ManagementResponse {
    package let address: ManagementAddress

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
    }
}
