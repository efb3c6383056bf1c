/// A characteristic that this device offers.
///
/// ```swift
/// LocalCharacteristic(BluetoothUUID(0x2A37), [.notify])
/// LocalCharacteristic(BluetoothUUID(0x2A38), [.read], value: .stored([1]))
/// LocalCharacteristic(BluetoothUUID(0x2A39), [.write, .indicate], value: .dynamic, access: .encrypted)
/// ```
///
/// Source: Core Specification, Vol 3, Part G, 3.3.
public struct LocalCharacteristic: Hashable, Sendable, Identifiable {
    /// The name by which the program refers to it; by default the UUID's text.
    ///
    /// Set it if the same UUID occurs more than once. Clients never see it.
    public var id: String

    /// The characteristic's type.
    public var uuid: BluetoothUUID

    /// The operations that clients may use.
    public var properties: Characteristic.Properties

    /// Its extended properties; the descriptor is added automatically if there are any.
    public var extendedProperties: Characteristic.ExtendedProperties = []

    /// Who may read and write the value.
    public var permissions: AttributePermissions

    /// What is required of a client to subscribe, and to receive values.
    public var subscribing: AccessRequirement

    /// Its value, or `.dynamic` if the program supplies it.
    public var value: LocalCharacteristic.Value

    /// The longest value in octets, 0 to 512; a longer write gets Invalid Attribute Value Length.
    public var maximumLength: Int

    /// Whether the value always has `maximumLength` octets: a shorter write then changes only the leading ones.
    public var hasFixedLength: Bool

    /// Its descriptors, in addition to those that are added automatically.
    public var descriptors: [LocalDescriptor]

    /// The closures that were given with it; `nil`: none.
    package var answers: LocalAnswers?

    /// What is wrong with it, if that was found before it was laid out: `has …`.
    package var fault: String?

    /// Declares a characteristic.
    ///
    /// - Parameters:
    ///   - uuid: the characteristic's type.
    ///   - properties: the operations that clients may use.
    ///   - value: its initial value, empty by default; or `.dynamic`: the program supplies it.
    ///   - access: the protection that the properties require of a client.
    ///   - permissions: who may read and write; by default the operations of the properties, with `access`.
    ///   - maximumLength: the longest value in octets, 0 to 512.
    ///   - hasFixedLength: whether the value always has `maximumLength` octets.
    ///   - id: the name by which the program refers to it; by default the UUID's text.
    ///   - descriptors: descriptors in addition to those that are added automatically.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: Characteristic.Properties,
        value: LocalCharacteristic.Value = .stored([]),
        access: AccessRequirement = .open,
        permissions: AttributePermissions? = nil,
        maximumLength: Int = 512,
        hasFixedLength: Bool = false,
        id: String? = nil,
        @ListBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
    ) {
        self.id = id ?? uuid.description
        self.uuid = uuid
        self.properties = properties
        self.permissions = permissions ?? AttributePermissions(properties, access: access)
        self.value = value
        self.maximumLength = maximumLength
        self.hasFixedLength = hasFixedLength
        self.descriptors = descriptors()
        subscribing = access
    }
}
