/// The first of two steps of an advertisement: its parameters. Nothing is on air until the data follows.
package struct ManagementAddExtendedAdvertisingParameters: ManagementCommand {
    package static let opcode = ManagementOpcode.addExtendedAdvertisingParameters

    package let instance: UInt8
    /// Also states which of the parameters below apply.
    package let flags: ManagementAdvertisingFlags
    /// Seconds on air before the next instance has its turn.
    package let duration: UInt16
    /// Seconds until the instance is removed.
    package let timeout: UInt16
    /// Units of 0.625 ms, 0x20 to 0xFFFFFF.
    package let minimumInterval: UInt32
    /// Units of 0.625 ms, 0x20 to 0xFFFFFF.
    package let maximumInterval: UInt32
    /// The requested power in dBm; `nil`: the controller's choice.
    package let power: Int8?

    package init(
        instance: UInt8,
        flags: ManagementAdvertisingFlags,
        duration: UInt16 = 0,
        timeout: UInt16 = 0,
        minimumInterval: UInt32 = 0,
        maximumInterval: UInt32 = 0,
        power: Int8? = nil
    ) {
        self.instance = instance
        self.flags = flags
        self.duration = duration
        self.timeout = timeout
        self.minimumInterval = minimumInterval
        self.maximumInterval = maximumInterval
        self.power = power
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(instance)
        writer.uint32(flags.rawValue)
        writer.uint16(duration)
        writer.uint16(timeout)
        writer.uint32(minimumInterval)
        writer.uint32(maximumInterval)
        writer.uint8(UInt8(bitPattern: power ?? 127))
    }

    package struct Response: ManagementResponse {
        package let instance: UInt8
        /// The power that the controller chose, in dBm.
        package let power: Int8?
        package let maximumData: UInt8
        package let maximumScanResponse: UInt8

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            instance = try reader.uint8("instance")
            power = try reader.decibels("power")
            maximumData = try reader.uint8("advertising data size")
            maximumScanResponse = try reader.uint8("scan response size")
        }
    }
}

/// The second of two steps of an advertisement: its data, which put it on air.
package struct ManagementAddExtendedAdvertisingData: ManagementCommand {
    package typealias Response = ManagementInstanceResponse
    package static let opcode = ManagementOpcode.addExtendedAdvertisingData

    package let instance: UInt8
    /// At most 255 octets; more is a programming error.
    package let data: AdvertisingData
    /// At most 255 octets; more is a programming error.
    package let scanResponse: AdvertisingData

    package init(
        instance: UInt8,
        data: AdvertisingData,
        scanResponse: AdvertisingData = AdvertisingData(bytes: [])
    ) {
        self.instance = instance
        self.data = data
        self.scanResponse = scanResponse
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(instance)
        writer.uint8(UInt8(data.bytes.count))
        writer.uint8(UInt8(scanResponse.bytes.count))
        writer.append(data.bytes)
        writer.append(scanResponse.bytes)
    }
}

/// PHYs, one bit per direction (the same bits as the socket option `BT_PHY`).
package struct ManagementPHYs: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let lowEnergy1MTransmit = Self(rawValue: 1 << 9)
    package static let lowEnergy1MReceive = Self(rawValue: 1 << 10)
    package static let lowEnergy2MTransmit = Self(rawValue: 1 << 11)
    package static let lowEnergy2MReceive = Self(rawValue: 1 << 12)
    package static let lowEnergyCodedTransmit = Self(rawValue: 1 << 13)
    package static let lowEnergyCodedReceive = Self(rawValue: 1 << 14)
}

/// Reads which PHYs the controller supports and uses.
package struct ManagementGetPHYConfiguration: ManagementCommand {
    package static let opcode = ManagementOpcode.getPHYConfiguration

    package init() {}

    package struct Response: ManagementResponse {
        package let supported: ManagementPHYs
        /// The PHYs that may be switched off.
        package let configurable: ManagementPHYs
        package let selected: ManagementPHYs

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            supported = ManagementPHYs(rawValue: try reader.uint32("supported PHYs"))
            configurable = ManagementPHYs(rawValue: try reader.uint32("configurable PHYs"))
            selected = ManagementPHYs(rawValue: try reader.uint32("selected PHYs"))
        }
    }
}

/// Selects PHYs; those that are not configurable must stay selected.
package struct ManagementSetPHYConfiguration: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.setPHYConfiguration

    package let selected: ManagementPHYs
    package init(_ selected: ManagementPHYs) { self.selected = selected }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint32(selected.rawValue) }
}
