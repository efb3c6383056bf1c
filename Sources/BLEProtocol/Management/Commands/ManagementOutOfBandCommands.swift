/// Makes a key pair for the next pairing with out-of-band data, and returns the data for the peer.
///
/// Source: kernel, `net/bluetooth/mgmt.c`, `read_local_oob_ext_data`.
package struct ManagementReadLocalOutOfBandData: ManagementCommand {
    package static let opcode = ManagementOpcode.readLocalOutOfBandExtendedData

    package init() {}

    /// Low Energy, as a set of address types.
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(0x06) }

    package struct Response: ManagementResponse {
        package let data: AdvertisingData

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            _ = try reader.uint8("address types")
            data = try reader.advertisingData("out-of-band data")
        }
    }
}

extension ManagementReadLocalOutOfBandData.Response: CustomStringConvertible, CustomReflectable {
    /// No value.
    package var description: String { "out-of-band data" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Gives the kernel the out-of-band data of a device, for pairing with it. Zeros mean no data: the kernel removes data
/// only of devices of Bluetooth Classic.
///
/// Source: kernel, `net/bluetooth/mgmt.c`, `add_remote_oob_data`; the values of legacy pairing must be zero.
package struct ManagementAddRemoteOutOfBandData: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.addRemoteOutOfBandData

    package let address: ManagementAddress
    package let data: OutOfBandData?

    package init(_ address: ManagementAddress, data: OutOfBandData?) {
        self.address = address
        self.data = data
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        let zeros = [UInt8](repeating: 0, count: 16)
        writer.managementAddress(address)
        writer.append(zeros + zeros)
        writer.append(data?.confirmation.octets ?? zeros)
        writer.append(data?.random.octets ?? zeros)
    }
}

/// Removes the out-of-band data of all devices, of any program: that of one Low Energy device can't be named. Source:
/// kernel, `net/bluetooth/mgmt.c`, `remove_remote_oob_data`.
package struct ManagementRemoveAllRemoteOutOfBandData: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.removeRemoteOutOfBandData

    package init() {}

    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(.any) }
}
