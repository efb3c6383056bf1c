/// An advertisement, as the kernel reports it.
package struct ManagementDeviceFound: Hashable, Sendable {
    /// What the kernel knows about an advertisement or link beyond its data; unknown bits are kept.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let confirmName = Flags(rawValue: 1 << 0)
        package static let legacyPairing = Flags(rawValue: 1 << 1)
        package static let notConnectable = Flags(rawValue: 1 << 2)
        /// Device Connected: this side made the connection.
        package static let initiatedHere = Flags(rawValue: 1 << 3)
        package static let nameRequestFailed = Flags(rawValue: 1 << 4)
        /// The data is a scan response alone.
        package static let scanResponse = Flags(rawValue: 1 << 5)
    }

    package let address: ManagementAddress
    /// In dBm; `nil` if the controller doesn't know it.
    package let rssi: Int8?
    package let flags: Flags
    /// Advertising data, then the scan response that the kernel merged with it.
    package let data: AdvertisingData

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        rssi = try reader.decibels("signal strength")
        flags = Flags(rawValue: try reader.uint32("flags"))
        data = try reader.advertisingData("advertising data")
    }
}

extension ManagementDeviceFound {
    /// Whether the device accepts connections, as far as is known. A scan response alone doesn't say; devices that
    /// answer scans are mostly connectable. Only an extended advertisement has a longer one than Bluetooth 4 allows,
    /// and one with a response accepts no connection.
    package var isConnectable: Bool {
        let isExtendedResponse = flags.contains(.scanResponse) && data.bytes.count > AdvertisingData.legacyLimit
        return !flags.contains(.notConnectable) && !isExtendedResponse
    }

    /// Whether its data may follow in a scan response: an extended advertisement with one has no data of its own, and
    /// accepts no connection (Core Specification, Vol 4, Part E, 7.8.53 and 7.8.54).
    package var mayBeExtendedScannable: Bool { flags.contains(.notConnectable) && data.bytes.isEmpty }
}

/// A link was made, by this program or another one.
package struct ManagementDeviceConnected: Hashable, Sendable {
    package let address: ManagementAddress
    package let flags: ManagementDeviceFound.Flags
    /// The device's last advertisement; empty if none is known.
    package let data: AdvertisingData

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        flags = ManagementDeviceFound.Flags(rawValue: try reader.uint32("flags"))
        data = try reader.advertisingData("advertising data")
    }
}

/// Why a link ended, as the kernel classifies it; unknown values are kept.
package struct ManagementDisconnectReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let unspecified = Self(rawValue: 0)
    package static let timeout = Self(rawValue: 1)
    package static let localHost = Self(rawValue: 2)
    package static let remote = Self(rawValue: 3)
    package static let authenticationFailure = Self(rawValue: 4)
    package static let suspend = Self(rawValue: 5)

    /// The reason in the library's terms.
    package var kind: DisconnectReason.Kind {
        switch self {
        case .timeout: .supervisionTimeout
        case .localHost, .suspend: .closedLocally
        case .remote: .closedByPeer
        // The kernel reports it for one status only: PIN or Key Missing (net/bluetooth/hci_event.c,
        // hci_encrypt_change_evt).
        case .authenticationFailure: .keyMissing
        default: .other
        }
    }
}

/// The connection parameters that a peripheral requested.
package struct ManagementNewConnectionParameter: Hashable, Sendable {
    /// Whether to keep them for the next connection.
    package let storeHint: Bool
    package let parameters: ManagementConnectionParameters

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        let address = try reader.address()
        storeHint = try reader.uint8("store hint") != 0
        let minimum = try reader.uint16("shortest interval")
        let maximum = try reader.uint16("longest interval")
        let latency = try reader.uint16("latency")
        parameters = ManagementConnectionParameters(
            address: address,
            minimumInterval: minimum,
            maximumInterval: maximum,
            latency: latency,
            supervisionTimeout: try reader.uint16("supervision timeout")
        )
    }
}

/// What the kernel stores about a device: in an event, and as the answer to Get Device Flags.
package struct ManagementDeviceFlagsChanged: ManagementResponse {
    package let address: ManagementAddress
    package let supported: ManagementDeviceFlags
    package let current: ManagementDeviceFlags

    package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        supported = ManagementDeviceFlags(rawValue: try reader.uint32("supported flags"))
        current = ManagementDeviceFlags(rawValue: try reader.uint32("current flags"))
    }
}
