/// Reads which version of the management protocol the kernel supports; sent with ``ManagementIndex/none``.
package struct ManagementReadVersion: ManagementCommand {
    package static let opcode = ManagementOpcode.readVersion

    package init() {}

    package struct Response: ManagementResponse {
        package let version: UInt8
        package let revision: UInt16

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            version = try reader.uint8("version")
            revision = try reader.uint16("revision")
        }
    }
}

/// Reads what one controller is, what it supports and what is switched on.
package struct ManagementReadInformation: ManagementCommand {
    package static let opcode = ManagementOpcode.readInformation

    package init() {}

    package struct Response: ManagementResponse {
        /// The public address; zero if the controller has none.
        package let address: BluetoothAddress
        /// The version of the Core Specification as HCI numbers it: 9 is 5.0.
        package let bluetoothVersion: UInt8
        package let manufacturer: UInt16
        package let supported: ManagementSettings
        package let current: ManagementSettings
        /// The class of device, 24 bits.
        package let deviceClass: UInt32
        package let name: String
        package let shortName: String

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            address = BluetoothAddress(rawValue: try reader.deviceAddress("address"), kind: .public)
            bluetoothVersion = try reader.uint8("version")
            manufacturer = try reader.uint16("manufacturer")
            supported = ManagementSettings(rawValue: try reader.uint32("supported settings"))
            current = ManagementSettings(rawValue: try reader.uint32("current settings"))
            let classLow = try reader.uint16("class of device")
            deviceClass = UInt32(try reader.uint8("class of device")) << 16 | UInt32(classLow)
            name = try reader.text(249, "name")
            shortName = try reader.text(11, "short name")
        }
    }
}

/// Reads what one controller is, what it supports and what is switched on; class, appearance and names as one list of
/// AD structures.
package struct ManagementReadExtendedInformation: ManagementCommand {
    package static let opcode = ManagementOpcode.readExtendedInformation

    package init() {}

    package struct Response: ManagementResponse {
        /// The public address; zero if the controller has none.
        package let address: BluetoothAddress
        package let bluetoothVersion: UInt8
        package let manufacturer: UInt16
        package let supported: ManagementSettings
        package let current: ManagementSettings
        package let data: AdvertisingData

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            address = BluetoothAddress(rawValue: try reader.deviceAddress("address"), kind: .public)
            bluetoothVersion = try reader.uint8("version")
            manufacturer = try reader.uint16("manufacturer")
            supported = ManagementSettings(rawValue: try reader.uint32("supported settings"))
            current = ManagementSettings(rawValue: try reader.uint32("current settings"))
            data = try reader.advertisingData("data")
        }
    }
}
