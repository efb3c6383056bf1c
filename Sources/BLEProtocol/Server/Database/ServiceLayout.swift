/// A described service and its handles.
struct ServicePlacement: Hashable, Sendable {
    var service: LocalService
    var start: UInt16

    var end: UInt16 { start + UInt16(service.attributeCount - 1) }
    var range: ClosedRange<UInt16> { start...end }

    /// The services one after another, from handle 1 on.
    static func inOrder(_ services: [LocalService]) -> [ServicePlacement] {
        var next = 1
        return services.map { service in
            defer { next += service.attributeCount }
            return ServicePlacement(service: service, start: UInt16(next))
        }
    }
}

/// Assigns handles, one attribute after another.
struct ServiceLayout {
    private(set) var attributes: [Attribute] = []
    private(set) var characteristics: [DatabaseCharacteristic] = []
    /// The handles of each service, since one may include another that comes after it.
    private let placements: [String: ServicePlacement]
    /// The handle of the first attribute if all attributes are placed without gaps before the next one.
    private var origin = 1

    private var next: UInt16 { UInt16(origin + attributes.count) }

    init(_ placements: [ServicePlacement]) {
        self.placements = Dictionary(placements.map { ($0.service.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Lays out one service.
    mutating func add(_ placement: ServicePlacement) {
        origin = Int(placement.start) - attributes.count
        add(placement.service)
    }

    private mutating func add(_ service: LocalService) {
        append(
            service.isPrimary ? AttributeType.primaryService : AttributeType.secondaryService,
            service.uuid.attOctets,
            groupSize: service.attributeCount
        )
        for included in service.includes {
            guard let placement = placements[included] else { continue }
            var value = ByteWriter(capacity: 6)
            value.uint16(placement.start)
            value.uint16(placement.end)
            // An include declaration contains only UUIDs of 16 bits (Vol 3, Part G, 3.2).
            if let short = placement.service.uuid.short { value.uint16(short) }
            append(AttributeType.include, value.bytes)
        }
        for characteristic in service.characteristics { add(characteristic, of: service) }
    }

    private mutating func add(_ characteristic: LocalCharacteristic, of service: LocalService) {
        let valueHandle = next + 1
        var value = ByteWriter(capacity: 19)
        value.uint8(characteristic.declaredProperties.rawValue)
        value.uint16(valueHandle)
        value.append(characteristic.uuid.attOctets)
        append(AttributeType.characteristic, value.bytes, groupSize: characteristic.attributeCount)
        attributes.append(Attribute(handle: valueHandle, characteristic, of: service))

        let extended = characteristic.declaredExtendedProperties
        if !extended.isEmpty {
            let octets = [UInt8(truncatingIfNeeded: extended.rawValue), UInt8(extended.rawValue >> 8)]
            append(BluetoothUUID.characteristicExtendedProperties, octets)
        }
        let configuration = characteristic.isSubscribable ? next : nil
        if let configuration {
            attributes.append(
                Attribute(
                    configuration: configuration,
                    of: valueHandle,
                    writing: characteristic.subscribing
                )
            )
        }
        for descriptor in characteristic.descriptors { attributes.append(Attribute(handle: next, descriptor)) }
        characteristics.append(
            DatabaseCharacteristic(
                id: characteristic.id,
                serviceUUID: service.uuid,
                uuid: characteristic.uuid,
                properties: characteristic.declaredProperties,
                valueHandle: valueHandle,
                configuration: configuration,
                subscribing: characteristic.subscribing
            )
        )
    }

    /// Adds an attribute that only describes the structure.
    private mutating func append(_ type: BluetoothUUID, _ value: [UInt8], groupSize: Int = 1) {
        attributes.append(
            Attribute(
                handle: next,
                type: type,
                permissions: .readOnly,
                content: .constant(value),
                groupEnd: next + UInt16(groupSize - 1)
            )
        )
    }
}

// MARK: - Attributes of a description

extension Attribute {
    /// The Client Characteristic Configuration of a characteristic; every client may read it (Vol 3, Part G, 3.3.3.3).
    package init(configuration handle: UInt16, of characteristic: UInt16, writing: AccessRequirement) {
        self.init(
            handle: handle,
            type: BluetoothUUID.clientCharacteristicConfiguration,
            permissions: AttributePermissions(read: .open, write: writing),
            content: .clientConfiguration(characteristic: characteristic),
            maximumLength: 2,
            hasFixedLength: true
        )
    }

    fileprivate init(handle: UInt16, _ characteristic: LocalCharacteristic, of service: LocalService) {
        self.init(
            handle: handle,
            type: characteristic.uuid,
            permissions: characteristic.permissions,
            content: Content(ofGATT: characteristic, service) ?? Content(characteristic.value),
            maximumLength: characteristic.maximumLength,
            hasFixedLength: characteristic.hasFixedLength,
            isJudged: characteristic.answers?.judgesWrites ?? false
        )
    }

    fileprivate init(handle: UInt16, _ descriptor: LocalDescriptor) {
        self.init(
            handle: handle,
            type: descriptor.uuid,
            permissions: descriptor.permissions,
            content: Content(descriptor.value),
            maximumLength: descriptor.maximumLength
        )
    }
}

extension Attribute.Content {
    /// The attributes of the Generic Attribute service that the server itself keeps up to date.
    fileprivate init?(ofGATT characteristic: LocalCharacteristic, _ service: LocalService) {
        guard service.uuid == .genericAttribute else { return nil }
        switch characteristic.uuid {
        case BluetoothUUID.Characteristics.databaseHash: self = .databaseHash([UInt8](repeating: 0, count: 16))
        case BluetoothUUID.Characteristics.clientSupportedFeatures: self = .clientFeatures
        default: return nil
        }
    }

    fileprivate init(_ value: LocalCharacteristic.Value) {
        switch value {
        case .stored(let octets): self = .stored(octets)
        case .dynamic: self = .dynamic
        }
    }
}

// MARK: - Additions to a description

extension LocalService {
    /// How many attributes the service takes.
    var attributeCount: Int {
        characteristics.reduce(1 + includes.count) { $0 + $1.attributeCount }
    }
}

extension LocalCharacteristic {
    /// How many attributes the characteristic takes.
    fileprivate var attributeCount: Int {
        2 + (declaredExtendedProperties.isEmpty ? 0 : 1) + (isSubscribable ? 1 : 0) + descriptors.count
    }

    /// Whether the server sends its value to clients, so that it has a Client Characteristic Configuration.
    package var isSubscribable: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }

    /// The extended properties, with the one that a writable user description requires (Vol 3, Part G, 3.3.3.2).
    package var declaredExtendedProperties: Characteristic.ExtendedProperties {
        let isWritable = descriptors.contains {
            $0.uuid == .characteristicUserDescription && $0.permissions.write != nil
        }
        return isWritable ? extendedProperties.union(.writableAuxiliaries) : extendedProperties
    }

    /// The properties, with a correct bit for the extended ones.
    package var declaredProperties: Characteristic.Properties {
        declaredExtendedProperties.isEmpty
            ? properties.subtracting(.extendedProperties) : properties.union(.extendedProperties)
    }
}
