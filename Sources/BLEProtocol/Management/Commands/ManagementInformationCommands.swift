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

/// Reads which commands and events the kernel knows; sent with ``ManagementIndex/none``.
package struct ManagementReadCommands: ManagementCommand {
    package static let opcode = ManagementOpcode.readCommands

    package init() {}

    package struct Response: ManagementResponse {
        package let commands: [ManagementOpcode]
        package let events: [ManagementEventCode]

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            let commandCount = try reader.uint16("number of commands")
            let eventCount = try reader.uint16("number of events")
            var commands: [ManagementOpcode] = []
            for _ in 0..<commandCount { commands.append(.init(rawValue: try reader.uint16("commands"))) }
            var events: [ManagementEventCode] = []
            for _ in 0..<eventCount { events.append(.init(rawValue: try reader.uint16("events"))) }
            self.commands = commands
            self.events = events
        }
    }
}

/// Lists the controllers, the newest first; sent with ``ManagementIndex/none``.
package struct ManagementReadIndexList: ManagementCommand {
    package static let opcode = ManagementOpcode.readIndexList

    package init() {}

    package struct Response: ManagementResponse {
        package let indexes: [ManagementIndex]

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            let count = try reader.uint16("number of controllers")
            var indexes: [ManagementIndex] = []
            for _ in 0..<count { indexes.append(.init(rawValue: try reader.uint16("controllers"))) }
            self.indexes = indexes
        }
    }
}

/// Lists the controllers with their type and bus; sent with ``ManagementIndex/none``.
package struct ManagementReadExtendedIndexList: ManagementCommand {
    package static let opcode = ManagementOpcode.readExtendedIndexList

    package init() {}

    package struct Controller: Hashable, Sendable {
        package let index: ManagementIndex
        /// 0 a primary controller, 1 one that still has to be configured, 2 an alternate MAC/PHY.
        package let type: UInt8
        /// How it is attached: 0 virtual, 1 USB, 3 UART, 5 PCI…
        package let bus: UInt8
    }

    package struct Response: ManagementResponse {
        package let controllers: [Controller]

        package init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
            let count = try reader.uint16("number of controllers")
            var controllers: [Controller] = []
            for _ in 0..<count {
                let index = ManagementIndex(rawValue: try reader.uint16("index"))
                let type = try reader.uint8("type")
                controllers.append(Controller(index: index, type: type, bus: try reader.uint8("bus")))
            }
            self.controllers = controllers
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
