/// The code of an event or answer in a management packet from the kernel; unknown codes are kept.
///
/// Source: BlueZ, doc/mgmt-protocol.rst.
package struct ManagementEventCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let commandComplete = Self(rawValue: 0x0001)
    package static let commandStatus = Self(rawValue: 0x0002)
    package static let controllerError = Self(rawValue: 0x0003)
    package static let indexAdded = Self(rawValue: 0x0004)
    package static let indexRemoved = Self(rawValue: 0x0005)
    package static let newSettings = Self(rawValue: 0x0006)
    package static let localNameChanged = Self(rawValue: 0x0008)
    package static let newLongTermKey = Self(rawValue: 0x000A)
    package static let deviceConnected = Self(rawValue: 0x000B)
    package static let deviceDisconnected = Self(rawValue: 0x000C)
    package static let connectFailed = Self(rawValue: 0x000D)
    package static let userConfirmationRequest = Self(rawValue: 0x000F)
    package static let userPasskeyRequest = Self(rawValue: 0x0010)
    package static let authenticationFailed = Self(rawValue: 0x0011)
    package static let deviceFound = Self(rawValue: 0x0012)
    package static let discovering = Self(rawValue: 0x0013)
    package static let deviceUnpaired = Self(rawValue: 0x0016)
    package static let passkeyNotify = Self(rawValue: 0x0017)
    package static let newIdentityResolvingKey = Self(rawValue: 0x0018)
    package static let newSignatureResolvingKey = Self(rawValue: 0x0019)
    package static let deviceAdded = Self(rawValue: 0x001A)
    package static let deviceRemoved = Self(rawValue: 0x001B)
    package static let newConnectionParameter = Self(rawValue: 0x001C)
    package static let extendedIndexAdded = Self(rawValue: 0x0020)
    package static let extendedIndexRemoved = Self(rawValue: 0x0021)
    package static let advertisingAdded = Self(rawValue: 0x0023)
    package static let advertisingRemoved = Self(rawValue: 0x0024)
    package static let phyConfigurationChanged = Self(rawValue: 0x0026)
    package static let deviceFlagsChanged = Self(rawValue: 0x002A)
    package static let monitorAdded = Self(rawValue: 0x002B)
    package static let monitorRemoved = Self(rawValue: 0x002C)
    package static let controllerSuspend = Self(rawValue: 0x002D)
    package static let controllerResume = Self(rawValue: 0x002E)
    package static let monitorDeviceFound = Self(rawValue: 0x002F)
    package static let monitorDeviceLost = Self(rawValue: 0x0030)
}

extension ManagementEventCode: CustomStringConvertible {
    /// The event's name in the protocol's document; the number if it has none here.
    package var description: String {
        Self.names[rawValue] ?? "event 0x" + String(rawValue, radix: 16)
    }

    private static let names: [UInt16: String] = [
        0x0001: "Command Complete", 0x0002: "Command Status", 0x0003: "Controller Error", 0x0004: "Index Added",
        0x0005: "Index Removed", 0x0006: "New Settings", 0x0007: "Class Of Device Changed",
        0x0008: "Local Name Changed", 0x0009: "New Link Key", 0x000A: "New Long Term Key",
        0x000B: "Device Connected", 0x000C: "Device Disconnected", 0x000D: "Connect Failed",
        0x000E: "PIN Code Request", 0x000F: "User Confirmation Request", 0x0010: "User Passkey Request",
        0x0011: "Authentication Failed", 0x0012: "Device Found", 0x0013: "Discovering", 0x0014: "Device Blocked",
        0x0015: "Device Unblocked", 0x0016: "Device Unpaired", 0x0017: "Passkey Notify",
        0x0018: "New Identity Resolving Key", 0x0019: "New Signature Resolving Key", 0x001A: "Device Added",
        0x001B: "Device Removed", 0x001C: "New Connection Parameter", 0x001D: "Unconfigured Index Added",
        0x001E: "Unconfigured Index Removed", 0x001F: "New Configuration Options", 0x0020: "Extended Index Added",
        0x0021: "Extended Index Removed", 0x0022: "Local Out Of Band Extended Data Updated",
        0x0023: "Advertising Added", 0x0024: "Advertising Removed",
        0x0025: "Extended Controller Information Changed", 0x0026: "PHY Configuration Changed",
        0x0027: "Experimental Feature Changed", 0x0028: "Default System Configuration Changed",
        0x0029: "Default Runtime Configuration Changed", 0x002A: "Device Flags Changed",
        0x002B: "Advertisement Monitor Added", 0x002C: "Advertisement Monitor Removed",
        0x002D: "Controller Suspend", 0x002E: "Controller Resume", 0x002F: "Advertisement Monitor Device Found",
        0x0030: "Advertisement Monitor Device Lost", 0x0031: "Mesh Device Found", 0x0032: "Mesh Packet Complete",
    ]
}
