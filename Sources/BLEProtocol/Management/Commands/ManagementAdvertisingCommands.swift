/// How an advertising instance behaves and what the kernel puts into its data.
package struct ManagementAdvertisingFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let connectable = Self(rawValue: 1 << 0)
    package static let generalDiscoverable = Self(rawValue: 1 << 1)
    package static let limitedDiscoverable = Self(rawValue: 1 << 2)
    /// The kernel adds a Flags field.
    package static let managedFlags = Self(rawValue: 1 << 3)
    /// The kernel adds the transmit power.
    package static let power = Self(rawValue: 1 << 4)
    /// The kernel adds the appearance to the scan response.
    package static let appearance = Self(rawValue: 1 << 5)
    /// The kernel adds the adapter's name to the scan response.
    package static let localName = Self(rawValue: 1 << 6)
    package static let secondary1M = Self(rawValue: 1 << 7)
    package static let secondary2M = Self(rawValue: 1 << 8)
    package static let secondaryCoded = Self(rawValue: 1 << 9)
    /// Add Extended Advertising Parameters: the duration applies.
    package static let hasDuration = Self(rawValue: 1 << 12)
    /// Add Extended Advertising Parameters: the timeout applies.
    package static let hasTimeout = Self(rawValue: 1 << 13)
    /// Add Extended Advertising Parameters: the intervals apply.
    package static let hasIntervals = Self(rawValue: 1 << 14)
    /// Add Extended Advertising Parameters: the power applies.
    package static let hasPower = Self(rawValue: 1 << 15)
    /// Add Extended Advertising Parameters: a scan response will follow.
    package static let hasScanResponse = Self(rawValue: 1 << 16)
}

/// Reads what the controller can advertise, and which instances exist.
package struct ManagementReadAdvertisingFeatures: ManagementCommand {
    package static let opcode = ManagementOpcode.readAdvertisingFeatures

    package init() {}

    package struct Response: ManagementResponse {
        package let supported: ManagementAdvertisingFlags
        /// The size of the advertising data in octets: 31, or 251 for a controller with extended advertising.
        package let maximumData: UInt8
        /// The size of the scan response data in octets.
        package let maximumScanResponse: UInt8
        /// The largest number of instances; they are numbered from 1.
        package let maximumInstances: UInt8
        package let instances: [UInt8]

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            supported = ManagementAdvertisingFlags(rawValue: try reader.uint32("supported flags"))
            maximumData = try reader.uint8("advertising data size")
            maximumScanResponse = try reader.uint8("scan response size")
            maximumInstances = try reader.uint8("instances")
            let count = try reader.uint8("number of instances")
            instances = Array(try reader.bytes(Int(count), "instances"))
        }
    }
}

/// Advertises, or replaces what an instance advertises, until it is removed or its time is over.
package struct ManagementAddAdvertising: ManagementCommand {
    package typealias Response = ManagementInstanceResponse
    package static let opcode = ManagementOpcode.addAdvertising

    package let instance: UInt8
    package let flags: ManagementAdvertisingFlags
    /// Seconds on air before the next instance has its turn; 0: the kernel's choice.
    package let duration: UInt16
    /// Seconds until the instance is removed; 0: never.
    package let timeout: UInt16
    /// At most 255 octets; more is a programming error.
    package let data: AdvertisingData
    /// At most 255 octets; more is a programming error.
    package let scanResponse: AdvertisingData

    package init(
        instance: UInt8,
        flags: ManagementAdvertisingFlags,
        duration: UInt16 = 0,
        timeout: UInt16 = 0,
        data: AdvertisingData,
        scanResponse: AdvertisingData = AdvertisingData(bytes: [])
    ) {
        self.instance = instance
        self.flags = flags
        self.duration = duration
        self.timeout = timeout
        self.data = data
        self.scanResponse = scanResponse
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(instance)
        writer.uint32(flags.rawValue)
        writer.uint16(duration)
        writer.uint16(timeout)
        writer.uint8(UInt8(data.bytes.count))
        writer.uint8(UInt8(scanResponse.bytes.count))
        writer.append(data.bytes)
        writer.append(scanResponse.bytes)
    }
}

/// Ends an advertising instance; instance 0 means all of them.
///
/// It is sent at once: a program that ends must not leave the instance behind because the kernel owes it an answer.
package struct ManagementRemoveAdvertising: ManagementCommand {
    package typealias Response = ManagementInstanceResponse
    package static let opcode = ManagementOpcode.removeAdvertising
    package static let scheduling = ManagementScheduling.immediately

    package let instance: UInt8
    package init(instance: UInt8) { self.instance = instance }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(instance) }
}

/// The instance that a command concerned.
package struct ManagementInstanceResponse: ManagementResponse {
    package let instance: UInt8

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        instance = try reader.uint8("instance")
    }
}
