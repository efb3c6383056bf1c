/// Pairs with a device, connecting first if there is no link; answered only when the pairing has ended. Several devices
/// may be paired at once, and the one that is done first is answered first.
package struct ManagementPairDevice: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.pairDevice

    /// Replies to the kernel's questions must be sent while the answer is awaited.
    package static let scheduling = ManagementScheduling.inTurnWithoutHolding

    /// Connecting takes up to 40 s, and each step of the pairing may take 30 s of the user's time.
    package static let timeout = Duration.seconds(180)

    package let address: ManagementAddress
    package let capability: ManagementIOCapability
    package var device: ManagementAddress? { address }

    package init(_ address: ManagementAddress, capability: ManagementIOCapability) {
        self.address = address
        self.capability = capability
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint8(capability.rawValue)
    }
}

/// Ends a pairing that is in progress; `Invalid Parameters` if there is none, or if the kernel, which looks at one of
/// all programs' pairings only, looks at another.
package struct ManagementCancelPairDevice: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.cancelPairDevice
    package static let scheduling = ManagementScheduling.immediately

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// Makes the kernel forget a device's keys.
package struct ManagementUnpairDevice: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.unpairDevice

    package let address: ManagementAddress
    /// Whether to drop a link to the device as well.
    package let disconnects: Bool

    package init(_ address: ManagementAddress, disconnects: Bool) {
        self.address = address
        self.disconnects = disconnects
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint8(disconnects ? 1 : 0)
    }
}

/// The user agrees: the number is the same on both devices, or the pairing is wanted.
package struct ManagementUserConfirmationReply: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.userConfirmationReply
    package static let scheduling = ManagementScheduling.immediately

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// The user does not agree.
package struct ManagementUserConfirmationNegativeReply: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.userConfirmationNegativeReply
    package static let scheduling = ManagementScheduling.immediately

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}

/// The number that the user read from the other device, 0 to 999,999.
package struct ManagementUserPasskeyReply: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.userPasskeyReply
    package static let scheduling = ManagementScheduling.immediately

    package let address: ManagementAddress
    package let passkey: UInt32

    package init(_ address: ManagementAddress, passkey: UInt32) {
        self.address = address
        self.passkey = passkey
    }

    package func encodeParameters(into writer: inout ByteWriter) {
        writer.managementAddress(address)
        writer.uint32(passkey)
    }
}

extension ManagementUserPasskeyReply: CustomStringConvertible, CustomReflectable {
    /// The address alone: the passkey is the user's secret.
    package var description: String { "passkey for \(address)" }
    package var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}

/// The user enters no number.
package struct ManagementUserPasskeyNegativeReply: ManagementCommand {
    package typealias Response = ManagementAddressResponse
    package static let opcode = ManagementOpcode.userPasskeyNegativeReply
    package static let scheduling = ManagementScheduling.immediately

    package let address: ManagementAddress
    package init(_ address: ManagementAddress) { self.address = address }
    package func encodeParameters(into writer: inout ByteWriter) { writer.managementAddress(address) }
}
