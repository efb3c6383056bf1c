/// Reads the kernel's defaults for one controller; the kernel answers at once.
///
/// Source: BlueZ, doc/mgmt-api.txt, "Read Default System Configuration Command".
package struct ManagementReadDefaultConfiguration: ManagementCommand {
    package static let opcode = ManagementOpcode.readDefaultConfiguration
    package static let scheduling = ManagementScheduling.immediately

    package init() {}

    package struct Response: ManagementResponse {
        /// How long the kernel waits for a peer that it has heard to answer its connection request; `nil` if the kernel
        /// doesn't state it.
        package let connectPatience: Duration?

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            var patience: Duration?
            // A list of types, lengths and values.
            while !reader.isAtEnd {
                let type = try reader.uint16("type of a default")
                let length = try reader.uint8("length of a default")
                let value = try reader.bytes(Int(length), "value of a default")
                guard type == ManagementSetConnectPatience.type, value.count == 2 else { continue }
                let milliseconds = UInt16(value[value.startIndex]) | UInt16(value[value.startIndex + 1]) << 8
                patience = .milliseconds(Int(milliseconds))
            }
            connectPatience = patience
        }
    }
}

/// Sets how long the kernel waits for a peer that it has heard to answer its connection request (its "LE Autoconnect
/// Timeout"); the kernel answers at once.
///
/// Source: BlueZ, doc/mgmt-api.txt, "Set Default System Configuration Command".
package struct ManagementSetConnectPatience: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.setDefaultConfiguration
    package static let scheduling = ManagementScheduling.immediately
    static let type: UInt16 = 0x001B

    /// In whole milliseconds, 65,535 at most.
    package let patience: Duration
    package init(_ patience: Duration) { self.patience = patience }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(Self.type)
        writer.uint8(2)
        writer.uint16(UInt16(clamping: Int(patience / .milliseconds(1))))
    }
}
