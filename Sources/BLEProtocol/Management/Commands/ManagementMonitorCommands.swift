/// A pattern of a monitor: octets at a place within an AD structure of one type.
package struct ManagementAdvertisingPattern: Hashable, Sendable {
    package let type: UInt8
    /// The place of the octets in the structure's data.
    package let offset: UInt8
    /// 1 to 31 octets; more is a programming error.
    package let value: [UInt8]

    package init(type: UInt8, offset: UInt8 = 0, value: [UInt8]) {
        precondition(value.count <= 31, "a pattern has 31 octets at most")
        self.type = type
        self.offset = offset
        self.value = value
    }

    func encode(into writer: inout ByteWriter) {
        writer.uint8(type)
        writer.uint8(offset)
        writer.uint8(UInt8(value.count))
        writer.append(value)
        writer.append(repeatElement(0, count: 31 - value.count))
    }
}

/// Scans passively for as long as it is registered.
///
/// Without help from the controller, the kernel ignores the patterns: every advertisement is reported, with handle 0,
/// and the filter for duplicates is off.
package struct ManagementAddPatternsMonitor: ManagementCommand {
    package typealias Response = ManagementMonitorResponse
    package static let opcode = ManagementOpcode.addPatternsMonitor

    /// 1 to 255 patterns, any of which matches; more is a programming error.
    package let patterns: [ManagementAdvertisingPattern]
    package init(_ patterns: [ManagementAdvertisingPattern]) { self.patterns = patterns }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(UInt8(patterns.count))
        for pattern in patterns { pattern.encode(into: &writer) }
    }
}

/// Ends a monitor; handle 0 means all of them.
///
/// It is sent at once: a program that ends must not leave the monitor behind because the kernel owes it an answer.
package struct ManagementRemoveMonitor: ManagementCommand {
    package typealias Response = ManagementMonitorResponse
    package static let opcode = ManagementOpcode.removeMonitor
    package static let scheduling = ManagementScheduling.immediately

    package let handle: UInt16
    package init(handle: UInt16) { self.handle = handle }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint16(handle) }
}

/// Reads what the controller does for monitors, and which monitors exist.
package struct ManagementReadMonitorFeatures: ManagementCommand {
    package static let opcode = ManagementOpcode.readMonitorFeatures

    package init() {}

    package struct Response: ManagementResponse {
        /// Bit 0: the controller itself compares the patterns.
        package let supported: UInt32
        package let enabled: UInt32
        package let maximumHandles: UInt16
        package let maximumPatterns: UInt8
        package let handles: [UInt16]

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            supported = try reader.uint32("supported features")
            enabled = try reader.uint32("enabled features")
            maximumHandles = try reader.uint16("largest number of handles")
            maximumPatterns = try reader.uint8("largest number of patterns")
            let count = try reader.uint16("number of handles")
            var handles: [UInt16] = []
            for _ in 0..<count { handles.append(try reader.uint16("handles")) }
            self.handles = handles
        }
    }
}

/// The monitor that a command concerned.
package struct ManagementMonitorResponse: ManagementResponse {
    package let handle: UInt16

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        handle = try reader.uint16("handle")
    }
}
