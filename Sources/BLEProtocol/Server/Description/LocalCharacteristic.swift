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
    /// The name by which the program refers to it: the UUID's text, unless another was given.
    ///
    /// Give one where the same UUID occurs more than once. Clients never see it.
    public var id: String

    /// What the characteristic is.
    public var uuid: BluetoothUUID

    /// What clients are told that it can do.
    public var properties: CharacteristicProperties

    /// What it can do beyond that; the descriptor is added by itself where this is not empty.
    public var extendedProperties: CharacteristicExtendedProperties = []

    /// Who may read and write the value.
    public var permissions: AttributePermissions

    /// What a client must bring to subscribe, and to be sent anything.
    public var subscribing: AccessRequirement

    /// Its value, or that the program is asked for it.
    public var value: LocalValue

    /// The longest value in octets, 0 to 512; a longer write gets Invalid Attribute Value Length.
    public var maximumLength: Int

    /// Whether the value always has `maximumLength` octets: a shorter write then changes only the leading ones.
    public var hasFixedLength: Bool

    /// Its descriptors, beside those that are added by themselves.
    public var descriptors: [LocalDescriptor]

    /// The closures that were given with it; `nil`: none.
    package var answers: LocalAnswers?

    /// What is wrong with it, where that was found before it was laid out: `has …`.
    package var fault: String?

    /// Describes a characteristic.
    ///
    /// - Parameters:
    ///   - uuid: What the characteristic is.
    ///   - properties: What clients are told that it can do.
    ///   - value: Its value, empty to begin with; or that the program is asked for it.
    ///   - access: What a client must bring for all that the properties promise.
    ///   - permissions: Who may read and write; where left out, what the properties promise, with `access`.
    ///   - maximumLength: The longest value in octets, 0 to 512.
    ///   - hasFixedLength: Whether the value always has `maximumLength` octets.
    ///   - id: The name by which the program refers to it; where left out, the UUID's text.
    ///   - descriptors: Descriptors beside those that are added by themselves.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        value: LocalValue = .stored([]),
        access: AccessRequirement = .open,
        permissions: AttributePermissions? = nil,
        maximumLength: Int = 512,
        hasFixedLength: Bool = false,
        id: String? = nil,
        @AttributeListBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
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
