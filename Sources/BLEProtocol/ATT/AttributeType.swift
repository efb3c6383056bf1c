/// The attribute types by which GATT distinguishes declarations and descriptors.
///
/// Source: Bluetooth SIG, Assigned Numbers, 3.5 to 3.8; Core Specification, Vol 3, Part G, 3.
package enum AttributeType {
    package static let primaryService = BluetoothUUID(0x2800)
    package static let secondaryService = BluetoothUUID(0x2801)
    package static let include = BluetoothUUID(0x2802)
    package static let characteristic = BluetoothUUID(0x2803)

    package static let extendedProperties = BluetoothUUID(0x2900)
    package static let userDescription = BluetoothUUID(0x2901)
    package static let clientConfiguration = BluetoothUUID(0x2902)
    package static let serverConfiguration = BluetoothUUID(0x2903)
    package static let presentationFormat = BluetoothUUID(0x2904)
    package static let aggregateFormat = BluetoothUUID(0x2905)

    package static let serviceChanged = BluetoothUUID(0x2A05)
    package static let clientSupportedFeatures = BluetoothUUID(0x2B29)
    package static let databaseHash = BluetoothUUID(0x2B2A)
    package static let serverSupportedFeatures = BluetoothUUID(0x2B3A)

    /// Whether the type begins a service, an include or a characteristic: 2800 to 2803.
    package static func isDeclaration(_ uuid: BluetoothUUID) -> Bool {
        uuid.short.map { (0x2800...0x2803).contains($0) } ?? false
    }
}
