/// A command of the management protocol; its type names its answer.
package protocol ManagementCommand: Sendable {
    /// The parameters of an answer whose status is success.
    associatedtype Response: ManagementResponse

    static var opcode: ManagementOpcode { get }

    /// When the command may be sent, and whether others wait for its answer.
    static var scheduling: ManagementScheduling { get }

    /// How long the kernel may take to answer.
    static var timeout: Duration { get }

    /// The device that the answer names, if commands of this kind are answered in any order; `nil`: they are answered
    /// in the order in which they were sent.
    var device: ManagementAddress? { get }

    /// Appends the parameters, without the packet's header.
    func encodeParameters(into writer: inout ByteWriter)
}

/// When a command may be sent, and whether later commands for the same controller wait for its answer.
package enum ManagementScheduling: Hashable, Sendable {
    /// In turn; the next one is sent when this one has been answered.
    case inTurn
    /// In turn; the next one doesn't wait. For commands that are answered only after others have been sent.
    case inTurnWithoutHolding
    /// At once, before all waiting commands: an answer to a question of the kernel, or a cancellation.
    case immediately
}

/// The parameters of the answer to a command, after its status.
package protocol ManagementResponse: Hashable, Sendable {
    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError)
}

extension ManagementCommand {
    package static var scheduling: ManagementScheduling { .inTurn }
    /// Longer than the kernel may take: it waits up to 20 s for a peer that fell silent while being connected to, and
    /// everything that needs the controller waits for that.
    package static var timeout: Duration { .seconds(30) }
    package var device: ManagementAddress? { nil }
    package func encodeParameters(into writer: inout ByteWriter) {}

    /// The command as a packet for one controller, or for none.
    package func packet(index: ManagementIndex) -> ManagementPacket {
        var writer = ByteWriter()
        encodeParameters(into: &writer)
        return ManagementPacket(code: Self.opcode.rawValue, index: index, parameters: writer.bytes[...])
    }
}

/// An answer with nothing but its status.
package struct ManagementEmptyResponse: ManagementResponse {
    package init(decoding reader: inout ManagementReader) {}
}

/// The answer to a setting: what is now switched on.
package struct ManagementSettingsResponse: ManagementResponse {
    package let settings: ManagementSettings

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        settings = ManagementSettings(rawValue: try reader.uint32("current settings"))
    }
}

/// The answer to a command about one device: its address again.
package struct ManagementAddressResponse: ManagementResponse {
    package let address: ManagementAddress

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
    }
}
