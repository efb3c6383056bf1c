/// Makes a key pair for the next pairing by out-of-band data, and tells what the peer is to be told of it.
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

/// Has the kernel pair with a device by what that has told out of band. It removes the data of devices of Bluetooth
/// Classic only; zeros stand for none.
///
/// Source: kernel, `net/bluetooth/mgmt.c`, `add_remote_oob_data`; legacy pairing's values have to be zero.
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
