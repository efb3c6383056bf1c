/// A characteristic of a peer: a value, its properties, and its descriptors.
///
/// A service may have several characteristics with the same UUID; the handle distinguishes them. Source: Core
/// Specification, Vol 3, Part G, 3.3.
public struct Characteristic: Hashable, Sendable {
    /// The type of the value.
    public var uuid: BluetoothUUID

    /// What can be done with the value.
    public var properties: Characteristic.Properties

    /// The handle of the declaration: 0x0001 to 0xFFFE.
    public var handle: UInt16

    /// The handle of the value, by which it is read, written and notified.
    public var valueHandle: UInt16

    /// The last handle that belongs to the characteristic.
    package var endHandle: UInt16

    /// The descriptors, ascending by handle.
    public var descriptors: [Descriptor]

    /// Makes a characteristic from the content of its declaration.
    package init(
        uuid: BluetoothUUID,
        properties: Characteristic.Properties,
        handle: UInt16,
        valueHandle: UInt16,
        endHandle: UInt16,
        descriptors: [Descriptor] = []
    ) {
        self.uuid = uuid
        self.properties = properties
        self.handle = handle
        self.valueHandle = valueHandle
        self.endHandle = endHandle
        self.descriptors = descriptors
    }

    /// The first descriptor with this UUID, if any.
    public func descriptor(_ uuid: BluetoothUUID) -> Descriptor? { descriptors.first { $0.uuid == uuid } }

    /// The Client Characteristic Configuration descriptor (2902), by which notifications are switched.
    package var clientConfiguration: Descriptor? { descriptor(.clientCharacteristicConfiguration) }
}
