/// The types of the attributes that declare a service, an include or a characteristic.
///
/// Source: Bluetooth SIG, Assigned Numbers, 3.6; Core Specification, Vol 3, Part G, 3.
package enum AttributeType {
    package static let primaryService = BluetoothUUID(0x2800)
    package static let secondaryService = BluetoothUUID(0x2801)
    package static let include = BluetoothUUID(0x2802)
    package static let characteristic = BluetoothUUID(0x2803)

    /// Whether the type begins a service, an include or a characteristic: 2800 to 2803.
    package static func isDeclaration(_ uuid: BluetoothUUID) -> Bool {
        uuid.short.map { (0x2800...0x2803).contains($0) } ?? false
    }
}
