/// The code of a management command; unknown codes are kept.
///
/// Source: BlueZ, doc/mgmt-protocol.rst.
package struct ManagementOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let readVersion = Self(rawValue: 0x0001)
    package static let readInformation = Self(rawValue: 0x0004)
    package static let setPowered = Self(rawValue: 0x0005)
    package static let setDiscoverable = Self(rawValue: 0x0006)
    package static let setConnectable = Self(rawValue: 0x0007)
    package static let setBondable = Self(rawValue: 0x0009)
    package static let setSecureSimplePairing = Self(rawValue: 0x000B)
    package static let setLowEnergy = Self(rawValue: 0x000D)
    package static let loadLongTermKeys = Self(rawValue: 0x0013)
    package static let disconnect = Self(rawValue: 0x0014)
    package static let getConnections = Self(rawValue: 0x0015)
    package static let setIOCapability = Self(rawValue: 0x0018)
    package static let pairDevice = Self(rawValue: 0x0019)
    package static let cancelPairDevice = Self(rawValue: 0x001A)
    package static let unpairDevice = Self(rawValue: 0x001B)
    package static let userConfirmationReply = Self(rawValue: 0x001C)
    package static let userConfirmationNegativeReply = Self(rawValue: 0x001D)
    package static let userPasskeyReply = Self(rawValue: 0x001E)
    package static let userPasskeyNegativeReply = Self(rawValue: 0x001F)
    package static let addRemoteOutOfBandData = Self(rawValue: 0x0021)
    package static let removeRemoteOutOfBandData = Self(rawValue: 0x0022)
    package static let startDiscovery = Self(rawValue: 0x0023)
    package static let stopDiscovery = Self(rawValue: 0x0024)
    package static let setClassic = Self(rawValue: 0x002A)
    package static let setSecureConnections = Self(rawValue: 0x002D)
    package static let setPrivacy = Self(rawValue: 0x002F)
    package static let loadIdentityResolvingKeys = Self(rawValue: 0x0030)
    package static let getConnectionInformation = Self(rawValue: 0x0031)
    package static let addDevice = Self(rawValue: 0x0033)
    package static let removeDevice = Self(rawValue: 0x0034)
    package static let loadConnectionParameters = Self(rawValue: 0x0035)
    package static let startServiceDiscovery = Self(rawValue: 0x003A)
    package static let readLocalOutOfBandExtendedData = Self(rawValue: 0x003B)
    package static let readAdvertisingFeatures = Self(rawValue: 0x003D)
    package static let addAdvertising = Self(rawValue: 0x003E)
    package static let removeAdvertising = Self(rawValue: 0x003F)
    package static let readExtendedInformation = Self(rawValue: 0x0042)
    package static let getPHYConfiguration = Self(rawValue: 0x0044)
    package static let setPHYConfiguration = Self(rawValue: 0x0045)
    package static let readExperimentalFeatures = Self(rawValue: 0x0049)
    package static let readDefaultConfiguration = Self(rawValue: 0x004B)
    package static let setDefaultConfiguration = Self(rawValue: 0x004C)
    package static let getDeviceFlags = Self(rawValue: 0x004F)
    package static let setDeviceFlags = Self(rawValue: 0x0050)
    package static let readMonitorFeatures = Self(rawValue: 0x0051)
    package static let addPatternsMonitor = Self(rawValue: 0x0052)
    package static let removeMonitor = Self(rawValue: 0x0053)
    package static let addExtendedAdvertisingParameters = Self(rawValue: 0x0054)
    package static let addExtendedAdvertisingData = Self(rawValue: 0x0055)
}

extension ManagementOpcode: CustomStringConvertible {
    /// The command's name in the protocol's document; the number if it has none here.
    package var description: String {
        Self.names[rawValue] ?? "command 0x" + String(rawValue, radix: 16)
    }

    private static let names: [UInt16: String] = [
        0x0001: "Read Management Version Information", 0x0002: "Read Management Supported Commands",
        0x0003: "Read Controller Index List", 0x0004: "Read Controller Information", 0x0005: "Set Powered",
        0x0006: "Set Discoverable", 0x0007: "Set Connectable", 0x0008: "Set Fast Connectable",
        0x0009: "Set Bondable", 0x000A: "Set Link Security", 0x000B: "Set Secure Simple Pairing",
        0x000C: "Set High Speed", 0x000D: "Set Low Energy", 0x000E: "Set Device Class", 0x000F: "Set Local Name",
        0x0010: "Add UUID", 0x0011: "Remove UUID", 0x0012: "Load Link Keys", 0x0013: "Load Long Term Keys",
        0x0014: "Disconnect", 0x0015: "Get Connections", 0x0016: "PIN Code Reply",
        0x0017: "PIN Code Negative Reply", 0x0018: "Set IO Capability", 0x0019: "Pair Device",
        0x001A: "Cancel Pair Device", 0x001B: "Unpair Device", 0x001C: "User Confirmation Reply",
        0x001D: "User Confirmation Negative Reply", 0x001E: "User Passkey Reply",
        0x001F: "User Passkey Negative Reply", 0x0020: "Read Local Out Of Band Data",
        0x0021: "Add Remote Out Of Band Data", 0x0022: "Remove Remote Out Of Band Data", 0x0023: "Start Discovery",
        0x0024: "Stop Discovery", 0x0025: "Confirm Name", 0x0026: "Block Device", 0x0027: "Unblock Device",
        0x0028: "Set Device ID", 0x0029: "Set Advertising", 0x002A: "Set BR/EDR", 0x002B: "Set Static Address",
        0x002C: "Set Scan Parameters", 0x002D: "Set Secure Connections", 0x002E: "Set Debug Keys",
        0x002F: "Set Privacy", 0x0030: "Load Identity Resolving Keys", 0x0031: "Get Connection Information",
        0x0032: "Get Clock Information", 0x0033: "Add Device", 0x0034: "Remove Device",
        0x0035: "Load Connection Parameters", 0x0036: "Read Unconfigured Controller Index List",
        0x0037: "Read Controller Configuration Information", 0x0038: "Set External Configuration",
        0x0039: "Set Public Address", 0x003A: "Start Service Discovery",
        0x003B: "Read Local Out Of Band Extended Data", 0x003C: "Read Extended Controller Index List",
        0x003D: "Read Advertising Features", 0x003E: "Add Advertising", 0x003F: "Remove Advertising",
        0x0040: "Get Advertising Size Information", 0x0041: "Start Limited Discovery",
        0x0042: "Read Extended Controller Information", 0x0043: "Set Appearance", 0x0044: "Get PHY Configuration",
        0x0045: "Set PHY Configuration", 0x0046: "Load Blocked Keys", 0x0047: "Set Wideband Speech",
        0x0048: "Read Controller Capabilities", 0x0049: "Read Experimental Features Information",
        0x004A: "Set Experimental Feature", 0x004B: "Read Default System Configuration",
        0x004C: "Set Default System Configuration", 0x004D: "Read Default Runtime Configuration",
        0x004E: "Set Default Runtime Configuration", 0x004F: "Get Device Flags", 0x0050: "Set Device Flags",
        0x0051: "Read Advertisement Monitor Features", 0x0052: "Add Advertisement Patterns Monitor",
        0x0053: "Remove Advertisement Monitor", 0x0054: "Add Extended Advertising Parameters",
        0x0055: "Add Extended Advertising Data", 0x0056: "Add Advertisement Patterns Monitor With RSSI Threshold",
        0x0057: "Set Mesh Receiver", 0x0058: "Read Mesh Features", 0x0059: "Transmit Mesh Packet",
        0x005A: "Cancel Transmit Mesh Packet", 0x005B: "Send HCI Command And Wait For Event",
    ]
}
