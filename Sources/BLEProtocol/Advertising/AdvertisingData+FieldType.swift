extension AdvertisingData {
    /// What an AD structure of an advertisement holds; every octet is allowed, unknown ones survive.
    ///
    /// Source: Bluetooth Assigned Numbers, 2.3, Common Data Types.
    public struct FieldType: RawRepresentable, Hashable, Sendable {
        /// The octet on air.
        public let rawValue: UInt8

        /// Makes a type from its octet.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Whether the device can be discovered, and its transports: ``AdvertisingData/flags-swift.property``.
        public static let flags = AdvertisingData.FieldType(rawValue: 0x01)
        /// Some of the device's services, 16-bit UUIDs.
        public static let incompleteServices16 = AdvertisingData.FieldType(rawValue: 0x02)
        /// All of the device's services that have 16-bit UUIDs.
        public static let completeServices16 = AdvertisingData.FieldType(rawValue: 0x03)
        /// Some of the device's services, 32-bit UUIDs.
        public static let incompleteServices32 = AdvertisingData.FieldType(rawValue: 0x04)
        /// All of the device's services that have 32-bit UUIDs.
        public static let completeServices32 = AdvertisingData.FieldType(rawValue: 0x05)
        /// Some of the device's services, 128-bit UUIDs.
        public static let incompleteServices128 = AdvertisingData.FieldType(rawValue: 0x06)
        /// All of the device's services that have 128-bit UUIDs.
        public static let completeServices128 = AdvertisingData.FieldType(rawValue: 0x07)
        /// The beginning of the device's name.
        public static let shortenedLocalName = AdvertisingData.FieldType(rawValue: 0x08)
        /// The device's name.
        public static let completeLocalName = AdvertisingData.FieldType(rawValue: 0x09)
        /// The power that the advertisement was sent with, in dBm.
        public static let txPower = AdvertisingData.FieldType(rawValue: 0x0A)
        /// Class of device, of classic Bluetooth.
        public static let classOfDevice = AdvertisingData.FieldType(rawValue: 0x0D)
        /// Simple Pairing Hash C-192.
        public static let simplePairingHash192 = AdvertisingData.FieldType(rawValue: 0x0E)
        /// Simple Pairing Randomizer R-192.
        public static let simplePairingRandomizer192 = AdvertisingData.FieldType(rawValue: 0x0F)
        /// Device ID, or the Security Manager's TK value when sent out of band.
        public static let deviceID = AdvertisingData.FieldType(rawValue: 0x10)
        /// Security Manager Out of Band Flags.
        public static let securityManagerFlags = AdvertisingData.FieldType(rawValue: 0x11)
        /// The connection intervals that a peripheral prefers.
        public static let connectionIntervalRange = AdvertisingData.FieldType(rawValue: 0x12)
        /// Services that the device looks for, 16-bit UUIDs.
        public static let solicitedServices16 = AdvertisingData.FieldType(rawValue: 0x14)
        /// Services that the device looks for, 128-bit UUIDs.
        public static let solicitedServices128 = AdvertisingData.FieldType(rawValue: 0x15)
        /// Data of a service that has a 16-bit UUID.
        public static let serviceData16 = AdvertisingData.FieldType(rawValue: 0x16)
        /// Public addresses of the devices that the advertisement is meant for.
        public static let publicTargetAddress = AdvertisingData.FieldType(rawValue: 0x17)
        /// Random addresses of the devices that the advertisement is meant for.
        public static let randomTargetAddress = AdvertisingData.FieldType(rawValue: 0x18)
        /// What the device looks like.
        public static let appearance = AdvertisingData.FieldType(rawValue: 0x19)
        /// The advertising interval, 16 bits.
        public static let advertisingInterval = AdvertisingData.FieldType(rawValue: 0x1A)
        /// The device's address, when sent out of band.
        public static let deviceAddress = AdvertisingData.FieldType(rawValue: 0x1B)
        /// The roles that the device supports and prefers.
        public static let role = AdvertisingData.FieldType(rawValue: 0x1C)
        /// Simple Pairing Hash C-256.
        public static let simplePairingHash256 = AdvertisingData.FieldType(rawValue: 0x1D)
        /// Simple Pairing Randomizer R-256.
        public static let simplePairingRandomizer256 = AdvertisingData.FieldType(rawValue: 0x1E)
        /// Services that the device looks for, 32-bit UUIDs.
        public static let solicitedServices32 = AdvertisingData.FieldType(rawValue: 0x1F)
        /// Data of a service that has a 32-bit UUID.
        public static let serviceData32 = AdvertisingData.FieldType(rawValue: 0x20)
        /// Data of a service that has a 128-bit UUID.
        public static let serviceData128 = AdvertisingData.FieldType(rawValue: 0x21)
        /// LE Secure Connections Confirmation Value, when sent out of band.
        public static let secureConnectionsConfirmation = AdvertisingData.FieldType(rawValue: 0x22)
        /// LE Secure Connections Random Value, when sent out of band.
        public static let secureConnectionsRandom = AdvertisingData.FieldType(rawValue: 0x23)
        /// A URI.
        public static let uri = AdvertisingData.FieldType(rawValue: 0x24)
        /// Indoor positioning.
        public static let indoorPositioning = AdvertisingData.FieldType(rawValue: 0x25)
        /// Transport discovery data.
        public static let transportDiscovery = AdvertisingData.FieldType(rawValue: 0x26)
        /// The features of the device's link layer.
        public static let supportedFeatures = AdvertisingData.FieldType(rawValue: 0x27)
        /// Channel map update indication, of periodic advertising.
        public static let channelMapUpdate = AdvertisingData.FieldType(rawValue: 0x28)
        /// Mesh provisioning over advertising.
        public static let meshProvisioning = AdvertisingData.FieldType(rawValue: 0x29)
        /// Mesh message.
        public static let meshMessage = AdvertisingData.FieldType(rawValue: 0x2A)
        /// Mesh beacon.
        public static let meshBeacon = AdvertisingData.FieldType(rawValue: 0x2B)
        /// BIGInfo, of an isochronous broadcast.
        public static let bigInfo = AdvertisingData.FieldType(rawValue: 0x2C)
        /// Broadcast code, when sent out of band.
        public static let broadcastCode = AdvertisingData.FieldType(rawValue: 0x2D)
        /// Resolvable set identifier.
        public static let resolvableSetIdentifier = AdvertisingData.FieldType(rawValue: 0x2E)
        /// The advertising interval, 24 or 32 bits.
        public static let advertisingIntervalLong = AdvertisingData.FieldType(rawValue: 0x2F)
        /// The name of a broadcast.
        public static let broadcastName = AdvertisingData.FieldType(rawValue: 0x30)
        /// Encrypted advertising data.
        public static let encryptedData = AdvertisingData.FieldType(rawValue: 0x31)
        /// Periodic advertising response timing information.
        public static let periodicResponseTiming = AdvertisingData.FieldType(rawValue: 0x32)
        /// Electronic shelf label.
        public static let electronicShelfLabel = AdvertisingData.FieldType(rawValue: 0x34)
        /// 3D information data.
        public static let information3D = AdvertisingData.FieldType(rawValue: 0x3D)
        /// Data in a company's own format.
        public static let manufacturerData = AdvertisingData.FieldType(rawValue: 0xFF)
    }
}
