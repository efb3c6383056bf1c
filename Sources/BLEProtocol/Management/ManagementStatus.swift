/// How the kernel answered a management command; unknown values are kept.
///
/// Source: BlueZ, doc/mgmt-protocol.rst, "Error Codes".
package struct ManagementStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = Self(rawValue: 0x00)
    package static let unknownCommand = Self(rawValue: 0x01)
    package static let notConnected = Self(rawValue: 0x02)
    package static let failed = Self(rawValue: 0x03)
    package static let connectFailed = Self(rawValue: 0x04)
    package static let authenticationFailed = Self(rawValue: 0x05)
    package static let notPaired = Self(rawValue: 0x06)
    package static let noResources = Self(rawValue: 0x07)
    package static let timeout = Self(rawValue: 0x08)
    package static let alreadyConnected = Self(rawValue: 0x09)
    package static let busy = Self(rawValue: 0x0A)
    package static let rejected = Self(rawValue: 0x0B)
    package static let notSupported = Self(rawValue: 0x0C)
    package static let invalidParameters = Self(rawValue: 0x0D)
    package static let disconnected = Self(rawValue: 0x0E)
    package static let notPowered = Self(rawValue: 0x0F)
    package static let cancelled = Self(rawValue: 0x10)
    package static let invalidIndex = Self(rawValue: 0x11)
    package static let blockedByRFKill = Self(rawValue: 0x12)
    package static let alreadyPaired = Self(rawValue: 0x13)
    package static let permissionDenied = Self(rawValue: 0x14)
}

extension ManagementStatus: CustomStringConvertible {
    /// The status as in the protocol's document, and its number: `Busy (0x0a)`.
    package var description: String {
        let number = "0x" + CollectionOfOne(rawValue).hexDigits
        return Self.names.indices.contains(Int(rawValue)) ? "\(Self.names[Int(rawValue)]) (\(number))" : number
    }

    private static let names = [
        "Success", "Unknown Command", "Not Connected", "Failed", "Connect Failed", "Authentication Failed",
        "Not Paired", "No Resources", "Timeout", "Already Connected", "Busy", "Rejected", "Not Supported",
        "Invalid Parameters", "Disconnected", "Not Powered", "Cancelled", "Invalid Index", "RFKilled",
        "Already Paired", "Permission Denied",
    ]
}
