/// A descriptor of a characteristic of this device.
///
/// The Client Characteristic Configuration and the Characteristic Extended Properties are added automatically if the
/// characteristic needs them; they can't be declared here.
public struct LocalDescriptor: Hashable, Sendable {
    /// The descriptor's type.
    public var uuid: BluetoothUUID

    /// Who may read and write it.
    public var permissions: AttributePermissions

    /// Its value, or `.dynamic` if the program supplies it.
    public var value: LocalCharacteristic.Value

    /// The longest value in octets, 0 to 512.
    public var maximumLength: Int

    /// Declares a descriptor; without further arguments, every client can read it.
    public init(
        _ uuid: BluetoothUUID,
        value: LocalCharacteristic.Value,
        permissions: AttributePermissions = AttributePermissions(read: .open),
        maximumLength: Int = 512
    ) {
        self.uuid = uuid
        self.permissions = permissions
        self.value = value
        self.maximumLength = maximumLength
    }

    /// The Characteristic User Description: a description of the characteristic for people.
    ///
    /// With a requirement for writing, clients may change it, and the characteristic announces that automatically.
    /// Source: Core Specification, Vol 3, Part G, 3.3.3.2.
    public static func userDescription(_ text: String, writing: AccessRequirement? = nil) -> LocalDescriptor {
        LocalDescriptor(
            BluetoothUUID.characteristicUserDescription,
            value: .text(text),
            permissions: AttributePermissions(read: .open, write: writing)
        )
    }

    /// The Characteristic Presentation Format: how a client shows the value.
    ///
    /// `format` and `unit` are the Bluetooth SIG's assigned numbers; a number x means x · 10^`exponent`. `nameSpace`
    /// and `description`, also assigned numbers, are optional. Source: Core Specification, Vol 3, Part G, 3.3.3.5.
    public static func presentationFormat(
        _ format: UInt8,
        exponent: Int8 = 0,
        unit: UInt16,
        nameSpace: UInt8 = 1,
        description: UInt16 = 0
    ) -> LocalDescriptor {
        var octets = ByteWriter(capacity: 7)
        octets.uint8(format)
        octets.uint8(UInt8(bitPattern: exponent))
        octets.uint16(unit)
        octets.uint8(nameSpace)
        octets.uint16(description)
        return LocalDescriptor(BluetoothUUID.characteristicPresentationFormat, value: .stored(octets.bytes))
    }
}
