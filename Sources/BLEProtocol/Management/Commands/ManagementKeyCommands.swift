/// Gives the kernel the keys of all bonds; the list replaces the previous one, including bluetoothd's.
///
/// At most ``maximum`` keys fit a packet; more is a programming error.
package struct ManagementLoadLongTermKeys: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.loadLongTermKeys
    /// How many keys of 36 octets fit the 65,535 of a packet, behind their number.
    package static let maximum = 1820

    package let keys: [ManagementLongTermKey]
    package init(_ keys: [ManagementLongTermKey]) { self.keys = keys }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(UInt16(keys.count))
        for key in keys { key.encode(into: &writer) }
    }
}

/// Gives the kernel the identity keys of all bonds; the list replaces the previous one.
///
/// The kernel accepts identity keys in a pairing only after the first such command, which may be empty.
/// At most ``maximum`` keys fit a packet; more is a programming error.
package struct ManagementLoadIdentityResolvingKeys: ManagementCommand {
    package typealias Response = ManagementEmptyResponse
    package static let opcode = ManagementOpcode.loadIdentityResolvingKeys
    /// How many keys of 23 octets fit the 65,535 of a packet, behind their number.
    package static let maximum = 2849

    package let keys: [ManagementIdentityResolvingKey]
    package init(_ keys: [ManagementIdentityResolvingKey]) { self.keys = keys }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint16(UInt16(keys.count))
        for key in keys { key.encode(into: &writer) }
    }
}

/// Whether this adapter hides behind private addresses; it can be set only while the adapter is switched off.
package struct ManagementSetPrivacy: ManagementCommand {
    package typealias Response = ManagementSettingsResponse
    package static let opcode = ManagementOpcode.setPrivacy

    package enum Mode: UInt8, Hashable, Sendable, CaseIterable {
        case off = 0
        case on = 1
        /// Private, except while the adapter is discoverable.
        case limited = 2
    }

    package let mode: Mode
    /// The adapter's own identity key, which its bonded peers know.
    package let identityKey: SecretKey

    package init(_ mode: Mode, identityKey: SecretKey) {
        self.mode = mode
        self.identityKey = identityKey
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.uint8(mode.rawValue)
        writer.append(identityKey.octets)
    }
}
