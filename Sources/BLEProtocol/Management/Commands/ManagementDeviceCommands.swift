/// Makes the kernel watch for a device, or connect to it, without a socket.
package struct ManagementAddDevice: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.addDevice

    package enum Action: UInt8, Hashable, Sendable, CaseIterable {
        /// Report its advertisements from passive scanning.
        case report = 0
        /// Accept its connections; for Low Energy, connect when it advertises to this adapter.
        case allow = 1
        /// Connect whenever it advertises, and again after each loss.
        case connect = 2
    }

    package let address: ManagementAddress
    package let action: Action

    package init(_ address: ManagementAddress, action: Action) {
        self.address = address
        self.action = action
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint8(action.rawValue)
    }
}

/// Undoes ``ManagementAddDevice`` for one device or, with ``ManagementAddress/any``, for all; it drops no link.
package struct ManagementRemoveDevice: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.removeDevice

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// The flags that the kernel keeps for a device that was added or paired.
package struct ManagementDeviceFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let remoteWakeup = Self(rawValue: 1 << 0)
    package static let devicePrivacy = Self(rawValue: 1 << 1)
    package static let addressResolution = Self(rawValue: 1 << 2)
}

/// Reads the flags of a device.
package struct ManagementGetDeviceFlags: ManagementCommand {
    package typealias Response = ManagementDeviceFlagsChanged
    package static let opcode = ManagementOpcode.getDeviceFlags

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// Sets the flags of a device.
package struct ManagementSetDeviceFlags: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.setDeviceFlags

    package let address: ManagementAddress
    package let flags: ManagementDeviceFlags

    package init(_ address: ManagementAddress, flags: ManagementDeviceFlags) {
        self.address = address
        self.flags = flags
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint32(flags.rawValue)
    }
}
