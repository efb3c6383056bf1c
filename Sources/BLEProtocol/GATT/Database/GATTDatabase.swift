/// What a peer offers: its services, their characteristics and descriptors, as discovery found them.
///
/// Source: Core Specification, Vol 3, Part G, 2.6.
public struct GATTDatabase: Hashable, Sendable {
    /// The services, ascending by handle; their ranges don't overlap.
    public var services: [GATTService]

    /// Makes a database of services that are ascending by handle.
    package init(services: [GATTService] = []) { self.services = services }

    /// The first service with this UUID, if any.
    public func service(_ uuid: BluetoothUUID) -> GATTService? { services.first { $0.uuid == uuid } }

    /// The first characteristic with this UUID, only in services with the other UUID if given; `nil` if there is none.
    public func characteristic(_ uuid: BluetoothUUID, in service: BluetoothUUID? = nil) -> Characteristic? {
        for candidate in services where service == nil || candidate.uuid == service {
            if let found = candidate.characteristic(uuid) { return found }
        }
        return nil
    }

    /// All characteristics with this UUID, ascending by handle, only in services with the other UUID if given.
    public func characteristics(_ uuid: BluetoothUUID, in service: BluetoothUUID? = nil) -> [Characteristic] {
        services.filter { service == nil || $0.uuid == service }
            .flatMap { $0.characteristics.filter { $0.uuid == uuid } }
    }

    /// The service to whose range a handle belongs.
    package func service(containing handle: UInt16) -> GATTService? {
        services.first { $0.handle <= handle && handle <= $0.endHandle }
    }

    /// The characteristic to which a handle belongs: its declaration's, its value's, or a descriptor's.
    package func characteristic(containing handle: UInt16) -> Characteristic? {
        service(containing: handle)?.characteristics.first { $0.handle <= handle && handle <= $0.endHandle }
    }

    /// The characteristic whose value has this handle.
    package func characteristic(valueHandle: UInt16) -> Characteristic? {
        characteristic(containing: valueHandle).flatMap { $0.valueHandle == valueHandle ? $0 : nil }
    }

    /// The descriptor that has this handle.
    package func descriptor(handle: UInt16) -> Descriptor? {
        characteristic(containing: handle)?.descriptors.first { $0.handle == handle }
    }

    /// Whether a handle has the same meaning in another database: the same characteristic, laid out in the same way, in
    /// a service of the same type.
    package func means(_ handle: UInt16, theSameAs other: GATTDatabase) -> Bool {
        guard let service = service(containing: handle), let twin = other.service(containing: handle),
            service.uuid == twin.uuid, service.handle == twin.handle
        else { return false }
        return characteristic(containing: handle) == other.characteristic(containing: handle)
    }
}
