/// Drops the link to a device at once; answered when the link is gone.
package struct ManagementDisconnect: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.disconnect

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// Lists the connected devices, whichever program connected them.
package struct ManagementGetConnections: ManagementCommand {
    package static let opcode = ManagementOpcode.getConnections

    package init() {}

    package struct Response: ManagementResponse {
        package let addresses: [ManagementAddress]

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            let count = try reader.uint16("number of connections")
            var addresses: [ManagementAddress] = []
            for _ in 0..<count { addresses.append(try reader.address()) }
            self.addresses = addresses
        }
    }
}

/// Reads how strong a link is; the kernel answers from a cache of one to three seconds.
package struct ManagementGetConnectionInformation: ManagementCommand {
    package static let opcode = ManagementOpcode.getConnectionInformation

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }

    package struct Response: ManagementResponse {
        package let address: ManagementAddress
        /// The strength of the peer's signal in dBm; `nil` if the controller doesn't know it.
        package let rssi: Int8?
        /// The transmit power of this side, in dBm.
        package let power: Int8?
        /// The highest transmit power of this side, in dBm.
        package let maximumPower: Int8?

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            address = try reader.address()
            rssi = try reader.decibels("signal strength")
            power = try reader.decibels("power")
            maximumPower = try reader.decibels("highest power")
        }
    }
}

/// Sets the connection parameters that the kernel uses for some devices, from their next connection on.
///
/// The list replaces the previous one, except for devices that are being connected to, and for those of Add Device that
/// the kernel connects to by itself. From revision 23 of the protocol on (6.11), a list of one entry also changes a
/// link that is up, if the kernel already has an entry for the device. At most 4,368 entries fit a packet; more is a
/// programming error.
/// Source: kernel, `net/bluetooth/mgmt.c`, `load_conn_param`.
package struct ManagementLoadConnectionParameters: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.loadConnectionParameters
    /// The kernel executes it before `send` returns: what is requested after it finds it done.
    package static let scheduling = ManagementScheduling.immediately

    package let entries: [ManagementConnectionParameters]
    package init(_ entries: [ManagementConnectionParameters]) { self.entries = entries }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(UInt16(entries.count))
        for entry in entries { entry.encode(into: &writer) }
    }
}

/// The connection parameters of one device, in the units of the air (Core Specification, Vol 6, Part B, 4.5).
package struct ManagementConnectionParameters: Hashable, Sendable {
    package let address: ManagementAddress
    /// Units of 1.25 ms, 6 to 3200.
    package let minimumInterval: UInt16
    /// Units of 1.25 ms, 6 to 3200.
    package let maximumInterval: UInt16
    /// The number of connection events that the peripheral may skip, 0 to 499.
    package let latency: UInt16
    /// Units of 10 ms, 10 to 3200.
    package let supervisionTimeout: UInt16

    package init(
        address: ManagementAddress,
        minimumInterval: UInt16,
        maximumInterval: UInt16,
        latency: UInt16,
        supervisionTimeout: UInt16
    ) {
        self.address = address
        self.minimumInterval = minimumInterval
        self.maximumInterval = maximumInterval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    /// The program's parameters, in the units of the air.
    package init(_ parameters: ConnectionParameters, for address: BluetoothAddress) {
        self.init(
            address: ManagementAddress(address),
            minimumInterval: parameters.interval.lowerBound.intervalUnits,
            maximumInterval: parameters.interval.upperBound.intervalUnits,
            latency: UInt16(parameters.latency),
            supervisionTimeout: parameters.supervisionTimeout.timeoutUnits
        )
    }

    func encode(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint16(minimumInterval)
        writer.uint16(maximumInterval)
        writer.uint16(latency)
        writer.uint16(supervisionTimeout)
    }
}
