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
        /// The features of the device's link layer.
        package static let supportedFeatures = AdvertisingData.FieldType(rawValue: 0x27)
        /// The advertising interval, 24 or 32 bits.
        package static let advertisingIntervalLong = AdvertisingData.FieldType(rawValue: 0x2F)
        /// Data in a company's own format.
        package static let manufacturerData = AdvertisingData.FieldType(rawValue: 0xFF)
    }
}
