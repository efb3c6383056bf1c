/// A setting that is on or off.
package protocol ManagementSwitch: ManagementCommand where Response == ManagementSettingsResponse {
    var isOn: Bool { get }
}

extension ManagementSwitch {
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(isOn ? 1 : 0) }
}

/// Switches the controller on or off.
package struct ManagementSetPowered: ManagementSwitch {
    package static let opcode = ManagementOpcode.setPowered
    /// Starting a controller takes some forty commands, for each of which the kernel waits two seconds.
    package static let timeout = Duration.seconds(60)
    package let isOn: Bool
    package init(_ isOn: Bool) { self.isOn = isOn }
}

/// Whether the controller accepts connections; an advertising instance may do so regardless.
package struct ManagementSetConnectable: ManagementSwitch {
    package static let opcode = ManagementOpcode.setConnectable
    package let isOn: Bool
    package init(_ isOn: Bool) { self.isOn = isOn }
}

/// Whether the keys of a pairing are kept; if off, the kernel refuses a peer's Security Request.
package struct ManagementSetBondable: ManagementSwitch {
    package static let opcode = ManagementOpcode.setBondable
    package let isOn: Bool
    package init(_ isOn: Bool) { self.isOn = isOn }
}

/// Secure Simple Pairing, a setting of classic Bluetooth that some controllers require.
package struct ManagementSetSecureSimplePairing: ManagementSwitch {
    package static let opcode = ManagementOpcode.setSecureSimplePairing
    package let isOn: Bool
    package init(_ isOn: Bool) { self.isOn = isOn }
}

/// Switches Low Energy on or off on a controller that has both transports.
package struct ManagementSetLowEnergy: ManagementSwitch {
    package static let opcode = ManagementOpcode.setLowEnergy
    package let isOn: Bool
    package init(_ isOn: Bool) { self.isOn = isOn }
}

/// Switches classic Bluetooth (BR/EDR) on or off; it can be switched on only while the controller is off.
package struct ManagementSetClassic: ManagementSwitch {
    package static let opcode = ManagementOpcode.setClassic
    package let isOn: Bool
    package init(_ isOn: Bool) { self.isOn = isOn }
}

/// Whether pairing uses LE Secure Connections.
package struct ManagementSetSecureConnections: ManagementCommand {
    package typealias Response = ManagementSettingsResponse
    package static let opcode = ManagementOpcode.setSecureConnections

    package enum Mode: UInt8, Hashable, Sendable, CaseIterable {
        case off = 0
        case on = 1
        /// The kernel refuses legacy pairing.
        case only = 2
    }

    package let mode: Mode
    package init(_ mode: Mode) { self.mode = mode }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(mode.rawValue) }
}

/// Whether others can discover the controller, a setting of classic Bluetooth and of `Set Advertising`.
package struct ManagementSetDiscoverable: ManagementCommand {
    package typealias Response = ManagementSettingsResponse
    package static let opcode = ManagementOpcode.setDiscoverable

    package enum Mode: UInt8, Hashable, Sendable, CaseIterable {
        case off = 0
        case general = 1
        case limited = 2
    }

    package let mode: Mode
    /// The number of seconds after which it ends; 0: never, which the limited mode does not allow.
    package let timeout: UInt16

    package init(_ mode: Mode, timeout: UInt16 = 0) {
        self.mode = mode
        self.timeout = timeout
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(mode.rawValue)
        writer.uint16(timeout)
    }
}

/// What this side can display and enter in a pairing; one value for the whole controller.
package struct ManagementSetIOCapability: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.setIOCapability

    package let capability: ManagementIOCapability
    package init(_ capability: ManagementIOCapability) { self.capability = capability }
    package func encodeParameters(into writer: inout ByteWriter) { writer.uint8(capability.rawValue) }
}

/// What a side of a pairing can display and enter (Core Specification, Vol 3, Part H, 2.3.2).
package enum ManagementIOCapability: UInt8, Hashable, Sendable, CaseIterable {
    case displayOnly = 0
    case displayYesNo = 1
    case keyboardOnly = 2
    case noInputNoOutput = 3
    case keyboardDisplay = 4
}
