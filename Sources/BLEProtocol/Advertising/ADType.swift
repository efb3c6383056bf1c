/// What an AD structure of an advertisement holds; every octet is allowed, unknown ones survive.
///
/// Source: Bluetooth Assigned Numbers, 2.3, Common Data Types.
public struct ADType: RawRepresentable, Hashable, Sendable {
    /// The octet on air.
    public let rawValue: UInt8

    /// Makes a type from its octet.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Whether the device can be discovered, and its transports: ``AdvertisingData/flags-swift.property``.
    public static let flags = ADType(rawValue: 0x01)
    /// Some of the device's services, 16-bit UUIDs.
    public static let incompleteServices16 = ADType(rawValue: 0x02)
    /// All of the device's services that have 16-bit UUIDs.
    public static let completeServices16 = ADType(rawValue: 0x03)
    /// Some of the device's services, 32-bit UUIDs.
    public static let incompleteServices32 = ADType(rawValue: 0x04)
    /// All of the device's services that have 32-bit UUIDs.
    public static let completeServices32 = ADType(rawValue: 0x05)
    /// Some of the device's services, 128-bit UUIDs.
    public static let incompleteServices128 = ADType(rawValue: 0x06)
    /// All of the device's services that have 128-bit UUIDs.
    public static let completeServices128 = ADType(rawValue: 0x07)
    /// The beginning of the device's name.
    public static let shortenedLocalName = ADType(rawValue: 0x08)
    /// The device's name.
    public static let completeLocalName = ADType(rawValue: 0x09)
    /// The power that the advertisement was sent with, in dBm.
    public static let txPower = ADType(rawValue: 0x0A)
    /// Class of device, of classic Bluetooth.
    public static let classOfDevice = ADType(rawValue: 0x0D)
    /// Simple Pairing Hash C-192.
    public static let simplePairingHash192 = ADType(rawValue: 0x0E)
    /// Simple Pairing Randomizer R-192.
    public static let simplePairingRandomizer192 = ADType(rawValue: 0x0F)
    /// Device ID, or the Security Manager's TK value when sent out of band.
    public static let deviceID = ADType(rawValue: 0x10)
    /// Security Manager Out of Band Flags.
    public static let securityManagerFlags = ADType(rawValue: 0x11)
    /// The connection intervals that a peripheral prefers.
    public static let connectionIntervalRange = ADType(rawValue: 0x12)
    /// Services that the device looks for, 16-bit UUIDs.
    public static let solicitedServices16 = ADType(rawValue: 0x14)
    /// Services that the device looks for, 128-bit UUIDs.
    public static let solicitedServices128 = ADType(rawValue: 0x15)
    /// Data of a service that has a 16-bit UUID.
    public static let serviceData16 = ADType(rawValue: 0x16)
    /// Public addresses of the devices that the advertisement is meant for.
    public static let publicTargetAddress = ADType(rawValue: 0x17)
    /// Random addresses of the devices that the advertisement is meant for.
    public static let randomTargetAddress = ADType(rawValue: 0x18)
    /// What the device looks like.
    public static let appearance = ADType(rawValue: 0x19)
    /// The advertising interval, 16 bits.
    public static let advertisingInterval = ADType(rawValue: 0x1A)
    /// The device's address, when sent out of band.
    public static let deviceAddress = ADType(rawValue: 0x1B)
    /// The roles that the device supports and prefers.
    public static let role = ADType(rawValue: 0x1C)
    /// Simple Pairing Hash C-256.
    public static let simplePairingHash256 = ADType(rawValue: 0x1D)
    /// Simple Pairing Randomizer R-256.
    public static let simplePairingRandomizer256 = ADType(rawValue: 0x1E)
    /// Services that the device looks for, 32-bit UUIDs.
    public static let solicitedServices32 = ADType(rawValue: 0x1F)
    /// Data of a service that has a 32-bit UUID.
    public static let serviceData32 = ADType(rawValue: 0x20)
    /// Data of a service that has a 128-bit UUID.
    public static let serviceData128 = ADType(rawValue: 0x21)
    /// LE Secure Connections Confirmation Value, when sent out of band.
    public static let secureConnectionsConfirmation = ADType(rawValue: 0x22)
    /// LE Secure Connections Random Value, when sent out of band.
    public static let secureConnectionsRandom = ADType(rawValue: 0x23)
    /// A URI.
    public static let uri = ADType(rawValue: 0x24)
    /// Indoor positioning.
    public static let indoorPositioning = ADType(rawValue: 0x25)
    /// Transport discovery data.
    public static let transportDiscovery = ADType(rawValue: 0x26)
    /// The features of the device's link layer.
    public static let supportedFeatures = ADType(rawValue: 0x27)
    /// Channel map update indication, of periodic advertising.
    public static let channelMapUpdate = ADType(rawValue: 0x28)
    /// Mesh provisioning over advertising.
    public static let meshProvisioning = ADType(rawValue: 0x29)
    /// Mesh message.
    public static let meshMessage = ADType(rawValue: 0x2A)
    /// Mesh beacon.
    public static let meshBeacon = ADType(rawValue: 0x2B)
    /// BIGInfo, of an isochronous broadcast.
    public static let bigInfo = ADType(rawValue: 0x2C)
    /// Broadcast code, when sent out of band.
    public static let broadcastCode = ADType(rawValue: 0x2D)
    /// Resolvable set identifier.
    public static let resolvableSetIdentifier = ADType(rawValue: 0x2E)
    /// The advertising interval, 24 or 32 bits.
    public static let advertisingIntervalLong = ADType(rawValue: 0x2F)
    /// The name of a broadcast.
    public static let broadcastName = ADType(rawValue: 0x30)
    /// Encrypted advertising data.
    public static let encryptedData = ADType(rawValue: 0x31)
    /// Periodic advertising response timing information.
    public static let periodicResponseTiming = ADType(rawValue: 0x32)
    /// Electronic shelf label.
    public static let electronicShelfLabel = ADType(rawValue: 0x34)
    /// 3D information data.
    public static let information3D = ADType(rawValue: 0x3D)
    /// Data in a company's own format.
    public static let manufacturerData = ADType(rawValue: 0xFF)
}
