/// Drops the link to a device at once; answered when the link is gone.
package struct ManagementDisconnect: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.disconnect

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// Which devices are connected, by whichever program.
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

/// How strong a link is; the kernel answers from a cache of one to three seconds.
package struct ManagementGetConnectionInformation: ManagementCommand {
    package static let opcode = ManagementOpcode.getConnectionInformation

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }

    package struct Response: ManagementResponse {
        package let address: ManagementAddress
        /// The strength of the peer's signal in dBm; `nil` where the controller can't tell.
        package let rssi: Int8?
        /// The power that this side sends with, in dBm.
        package let power: Int8?
        /// The highest power that this side can send with, in dBm.
        package let maximumPower: Int8?

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            address = try reader.address()
            rssi = try reader.decibels("signal strength")
            power = try reader.decibels("power")
            maximumPower = try reader.decibels("highest power")
        }
    }
}

/// Which connection parameters the kernel uses for some devices, from their next connection on.
///
/// The list replaces the one before, except for devices that are being connected to, and for those of Add Device that are
/// connected to by themselves. From revision 23 of the protocol on (6.11) a list of one changes a link that is up too, where
/// the kernel has an entry of the device already. At most 4,368 entries fit a packet; more is a mistake of the caller.
/// Source: kernel, `net/bluetooth/mgmt.c`, `load_conn_param`.
package struct ManagementLoadConnectionParameters: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.loadConnectionParameters
    /// The kernel carries it out before `send` returns: what is asked for behind it finds it done.
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
    /// How many connection events the peripheral may skip, 0 to 499.
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

    /// What a program prefers, in the units of the air.
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
