/// A service of a peer: a group of characteristics, as its attribute database lists it.
///
/// A peer may have several services with the same UUID; the handle distinguishes them. Source: Core Specification, Vol
/// 3, Part G, 3.1.
public struct GATTService: Hashable, Sendable {
    /// The type of the service.
    public var uuid: BluetoothUUID

    /// Whether the service is primary; a secondary service exists only to be included by others.
    public var isPrimary: Bool

    /// The handle of the declaration, the first of the service: 0x0001 to 0xFFFF.
    public var handle: UInt16

    /// The last handle that belongs to the service.
    package var endHandle: UInt16

    /// The services that this one refers to, in the order of their declarations.
    public var includedServices: [GATTService.Inclusion]

    /// The characteristics, ascending by handle.
    public var characteristics: [Characteristic]

    /// Makes a service from the content of its declaration.
    package init(
        uuid: BluetoothUUID,
        isPrimary: Bool = true,
        handle: UInt16,
        endHandle: UInt16,
        includedServices: [GATTService.Inclusion] = [],
        characteristics: [Characteristic] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.handle = handle
        self.endHandle = endHandle
        self.includedServices = includedServices
        self.characteristics = characteristics
    }

    /// The first characteristic with this UUID, if any.
    public func characteristic(_ uuid: BluetoothUUID) -> Characteristic? {
        characteristics.first { $0.uuid == uuid }
    }
}

extension GATTService {
    /// A service's reference to another service.
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.2.
    public struct Inclusion: Hashable, Sendable {
        /// The UUID of the service that is referred to.
        public var uuid: BluetoothUUID

        /// The handle of the reference itself.
        public var handle: UInt16

        /// The handle of the declaration of the service that is referred to.
        public var startHandle: UInt16

        /// The last handle of the service that is referred to.
        package var endHandle: UInt16

        /// Makes a reference from the content of its declaration.
        package init(uuid: BluetoothUUID, handle: UInt16, startHandle: UInt16, endHandle: UInt16) {
            self.uuid = uuid
            self.handle = handle
            self.startHandle = startHandle
            self.endHandle = endHandle
        }
    }
}
