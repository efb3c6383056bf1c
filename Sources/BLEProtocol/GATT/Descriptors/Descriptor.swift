/// A descriptor of a characteristic: an attribute that says more about its value.
///
/// Source: Core Specification, Vol 3, Part G, 3.3.3.
public struct Descriptor: Hashable, Sendable {
    /// The descriptor's type.
    public var uuid: BluetoothUUID

    /// The handle by which the descriptor is read and written.
    public var handle: UInt16

    /// Makes a descriptor from its type and handle.
    package init(uuid: BluetoothUUID, handle: UInt16) {
        self.uuid = uuid
        self.handle = handle
    }
}
