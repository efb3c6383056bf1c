/// What a discovery listens for.
package struct ManagementDiscoveryType: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let classic = Self(rawValue: 1 << 0)
    package static let lowEnergyPublic = Self(rawValue: 1 << 1)
    package static let lowEnergyRandom = Self(rawValue: 1 << 2)

    /// Low Energy devices, with public and with random addresses: Linux accepts the two only together.
    package static let lowEnergy: Self = [.lowEnergyPublic, .lowEnergyRandom]
}

/// Scans actively for about ten seconds; Device Found events follow, and Discovering when it ends by itself.
package struct ManagementStartDiscovery: ManagementCommand {
    package typealias Response = ManagementDiscoveryResponse
    package static let opcode = ManagementOpcode.startDiscovery

    package let type: ManagementDiscoveryType
    package init(_ type: ManagementDiscoveryType = .lowEnergy) { self.type = type }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(type.rawValue) }
}

/// Ends a discovery, whichever program started it; the type must be the one that it was started with.
package struct ManagementStopDiscovery: ManagementCommand {
    package typealias Response = ManagementDiscoveryResponse
    package static let opcode = ManagementOpcode.stopDiscovery

    package let type: ManagementDiscoveryType
    package init(_ type: ManagementDiscoveryType = .lowEnergy) { self.type = type }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(type.rawValue) }
}

/// A discovery that filters its reports by signal strength or by the listed services.
///
/// The kernel compares the lists of service UUIDs, not service data. With a threshold, it drops advertisements whose
/// strength the controller doesn't know.
package struct ManagementStartServiceDiscovery: ManagementCommand {
    package typealias Response = ManagementDiscoveryResponse
    package static let opcode = ManagementOpcode.startServiceDiscovery

    package let type: ManagementDiscoveryType
    /// The weakest strength to report, in dBm; `nil`: no threshold.
    package let threshold: Int8?
    /// At most 65,535 / 16 fit a packet; a longer list is a programming error.
    package let services: [BluetoothUUID]

    package init(_ type: ManagementDiscoveryType = .lowEnergy, threshold: Int8? = nil, services: [BluetoothUUID]) {
        self.type = type
        self.threshold = threshold
        self.services = services
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(type.rawValue)
        writer.uint8(UInt8(bitPattern: threshold ?? 127))
        writer.uint16(UInt16(services.count))
        for service in services { writer.append(service.littleEndianOctets128) }
    }
}

/// The type of the discovery that was started or stopped; a refusal states it too.
package struct ManagementDiscoveryResponse: ManagementResponse {
    package let type: ManagementDiscoveryType

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        type = ManagementDiscoveryType(rawValue: try reader.uint8("type"))
    }
}
