extension AdvertisingData {
    /// The type of an AD structure; every octet is allowed, and unknown ones are kept.
    ///
    /// Source: Bluetooth Assigned Numbers, 2.3, Common Data Types.
    public struct FieldType: RawRepresentable, ExpressibleByIntegerLiteral, Hashable, Sendable {
        /// The octet on air.
        public let rawValue: UInt8

        /// Makes a type from its octet.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Makes a type from its octet, as Assigned Numbers lists it: `.raw(0x24, …)`.
        public init(integerLiteral rawValue: UInt8) { self.rawValue = rawValue }

        /// Whether the device can be discovered, and its transports: ``AdvertisingData/flags-swift.property``.
        package static let flags = AdvertisingData.FieldType(rawValue: 0x01)
        /// Some of the device's services, 16-bit UUIDs.
        package static let incompleteServices16 = AdvertisingData.FieldType(rawValue: 0x02)
        /// All of the device's services that have 16-bit UUIDs.
        package static let completeServices16 = AdvertisingData.FieldType(rawValue: 0x03)
        /// Some of the device's services, 32-bit UUIDs.
        package static let incompleteServices32 = AdvertisingData.FieldType(rawValue: 0x04)
        /// All of the device's services that have 32-bit UUIDs.
        package static let completeServices32 = AdvertisingData.FieldType(rawValue: 0x05)
        /// Some of the device's services, 128-bit UUIDs.
        package static let incompleteServices128 = AdvertisingData.FieldType(rawValue: 0x06)
        /// All of the device's services that have 128-bit UUIDs.
        package static let completeServices128 = AdvertisingData.FieldType(rawValue: 0x07)
        /// The beginning of the device's name.
        package static let shortenedLocalName = AdvertisingData.FieldType(rawValue: 0x08)
        /// The device's name.
        package static let completeLocalName = AdvertisingData.FieldType(rawValue: 0x09)
        /// The power that the advertisement was sent with, in dBm.
        package static let txPower = AdvertisingData.FieldType(rawValue: 0x0A)
        /// Class of device, of classic Bluetooth.
        package static let classOfDevice = AdvertisingData.FieldType(rawValue: 0x0D)
        /// Simple Pairing Hash C-192.
        package static let simplePairingHash192 = AdvertisingData.FieldType(rawValue: 0x0E)
        /// Simple Pairing Randomizer R-192.
        package static let simplePairingRandomizer192 = AdvertisingData.FieldType(rawValue: 0x0F)
        /// Device ID, or the Security Manager's TK value when sent out of band.
        package static let deviceID = AdvertisingData.FieldType(rawValue: 0x10)
        /// Security Manager Out of Band Flags.
        package static let securityManagerFlags = AdvertisingData.FieldType(rawValue: 0x11)
        /// The connection intervals that a peripheral prefers.
        package static let connectionIntervalRange = AdvertisingData.FieldType(rawValue: 0x12)
        /// Services that the device looks for, 16-bit UUIDs.
        package static let solicitedServices16 = AdvertisingData.FieldType(rawValue: 0x14)
        /// Services that the device looks for, 128-bit UUIDs.
        package static let solicitedServices128 = AdvertisingData.FieldType(rawValue: 0x15)
        /// Data of a service that has a 16-bit UUID.
        package static let serviceData16 = AdvertisingData.FieldType(rawValue: 0x16)
        /// Public addresses of the devices that the advertisement is meant for.
        package static let publicTargetAddress = AdvertisingData.FieldType(rawValue: 0x17)
        /// Random addresses of the devices that the advertisement is meant for.
        package static let randomTargetAddress = AdvertisingData.FieldType(rawValue: 0x18)
        /// What the device looks like.
        package static let appearance = AdvertisingData.FieldType(rawValue: 0x19)
        /// The advertising interval, 16 bits.
        package static let advertisingInterval = AdvertisingData.FieldType(rawValue: 0x1A)
        /// The device's address, when sent out of band.
        package static let deviceAddress = AdvertisingData.FieldType(rawValue: 0x1B)
        /// The roles that the device supports and prefers.
        package static let role = AdvertisingData.FieldType(rawValue: 0x1C)
        /// Simple Pairing Hash C-256.
        package static let simplePairingHash256 = AdvertisingData.FieldType(rawValue: 0x1D)
        /// Simple Pairing Randomizer R-256.
        package static let simplePairingRandomizer256 = AdvertisingData.FieldType(rawValue: 0x1E)
        /// Services that the device looks for, 32-bit UUIDs.
        package static let solicitedServices32 = AdvertisingData.FieldType(rawValue: 0x1F)
        /// Data of a service that has a 32-bit UUID.
        package static let serviceData32 = AdvertisingData.FieldType(rawValue: 0x20)
        /// Data of a service that has a 128-bit UUID.
        package static let serviceData128 = AdvertisingData.FieldType(rawValue: 0x21)
        /// LE Secure Connections Confirmation Value, when sent out of band.
        package static let secureConnectionsConfirmation = AdvertisingData.FieldType(rawValue: 0x22)
        /// LE Secure Connections Random Value, when sent out of band.
        package static let secureConnectionsRandom = AdvertisingData.FieldType(rawValue: 0x23)
        /// A URI.
        package static let uri = AdvertisingData.FieldType(rawValue: 0x24)
        /// Indoor positioning.
        package static let indoorPositioning = AdvertisingData.FieldType(rawValue: 0x25)
        /// Transport discovery data.
        package static let transportDiscovery = AdvertisingData.FieldType(rawValue: 0x26)
        /// The features of the device's link layer.
        package static let supportedFeatures = AdvertisingData.FieldType(rawValue: 0x27)
        /// Channel map update indication, of periodic advertising.
        package static let channelMapUpdate = AdvertisingData.FieldType(rawValue: 0x28)
        /// Mesh provisioning over advertising.
        package static let meshProvisioning = AdvertisingData.FieldType(rawValue: 0x29)
        /// Mesh message.
        package static let meshMessage = AdvertisingData.FieldType(rawValue: 0x2A)
        /// Mesh beacon.
        package static let meshBeacon = AdvertisingData.FieldType(rawValue: 0x2B)
        /// BIGInfo, of an isochronous broadcast.
        package static let bigInfo = AdvertisingData.FieldType(rawValue: 0x2C)
        /// Broadcast code, when sent out of band.
        package static let broadcastCode = AdvertisingData.FieldType(rawValue: 0x2D)
        /// Resolvable set identifier.
        package static let resolvableSetIdentifier = AdvertisingData.FieldType(rawValue: 0x2E)
        /// The advertising interval, 24 or 32 bits.
        package static let advertisingIntervalLong = AdvertisingData.FieldType(rawValue: 0x2F)
        /// The name of a broadcast.
        package static let broadcastName = AdvertisingData.FieldType(rawValue: 0x30)
        /// Encrypted advertising data.
        package static let encryptedData = AdvertisingData.FieldType(rawValue: 0x31)
        /// Periodic advertising response timing information.
        package static let periodicResponseTiming = AdvertisingData.FieldType(rawValue: 0x32)
        /// Electronic shelf label.
        package static let electronicShelfLabel = AdvertisingData.FieldType(rawValue: 0x34)
        /// 3D information data.
        package static let information3D = AdvertisingData.FieldType(rawValue: 0x3D)
        /// Data in a company's own format.
        package static let manufacturerData = AdvertisingData.FieldType(rawValue: 0xFF)
    }
}
