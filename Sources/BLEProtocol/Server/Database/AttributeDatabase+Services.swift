/// Builds the attributes of described services.
extension AttributeDatabase {
    /// Lays out services, with handles from 1 on in the order of the description.
    ///
    /// Within a service its includes come first, then each characteristic with its value, the Characteristic Extended
    /// Properties and the Client Characteristic Configuration where it needs them, and its other descriptors.
    ///
    /// - Precondition: ``fault(in:)`` finds nothing.
    package init(services: [LocalService]) {
        if let fault = Self.fault(in: services) { preconditionFailure(fault) }
        var layout = Layout(services: services)
        for service in services { layout.add(service) }
        self.init(attributes: layout.attributes, characteristics: layout.characteristics)
    }

    /// Hands out handles, one attribute after the other.
    private struct Layout {
        var attributes: [Attribute] = []
        var characteristics: [DatabaseCharacteristic] = []
        /// Where each service will lie, since one may include another that comes after it.
        private var ranges: [String: (service: LocalService, start: UInt16, end: UInt16)] = [:]

        init(services: [LocalService]) {
            var start = 1
            for service in services {
                let end = start + service.attributeCount - 1
                if ranges[service.id] == nil { ranges[service.id] = (service, UInt16(start), UInt16(end)) }
                start = end + 1
            }
        }

        private var next: UInt16 { UInt16(attributes.count + 1) }

        mutating func add(_ service: LocalService) {
            append(
                service.isPrimary ? AttributeType.primaryService : AttributeType.secondaryService,
                service.uuid.attOctets,
                groupSize: service.attributeCount
            )
            for included in service.includes {
                guard let range = ranges[included] else { continue }
                var value = ByteWriter(capacity: 6)
                value.uint16(range.start)
                value.uint16(range.end)
                // Of the UUIDs only those of 16 bits stand in an include declaration (Vol 3, Part G, 3.2).
                if let short = range.service.uuid.short { value.uint16(short) }
                append(AttributeType.include, value.bytes)
            }
            for characteristic in service.characteristics { add(characteristic, of: service) }
        }

        private mutating func add(_ characteristic: LocalCharacteristic, of service: LocalService) {
            let declaration = next
            let valueHandle = declaration + 1
            var value = ByteWriter(capacity: 19)
            value.uint8(characteristic.declaredProperties.rawValue)
            value.uint16(valueHandle)
            value.append(characteristic.uuid.attOctets)
            append(AttributeType.characteristic, value.bytes, groupSize: characteristic.attributeCount)
            attributes.append(Attribute(handle: valueHandle, characteristic))

            let extended = characteristic.declaredExtendedProperties
            if !extended.isEmpty {
                let octets = [UInt8(truncatingIfNeeded: extended.rawValue), UInt8(extended.rawValue >> 8)]
                append(AttributeType.extendedProperties, octets)
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
                    service: service.id,
                    uuid: characteristic.uuid,
                    properties: characteristic.declaredProperties,
                    declaration: declaration,
                    valueHandle: valueHandle,
                    configuration: configuration,
                    subscribing: characteristic.subscribing
                )
            )
        }

        /// Adds an attribute that only says what is where.
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
}

// MARK: - Attributes of a description

extension Attribute {
    /// The Client Characteristic Configuration of a characteristic; everybody may read it (Vol 3, Part G, 3.3.3.3).
    package init(configuration handle: UInt16, of characteristic: UInt16, writing: AccessRequirement) {
        self.init(
            handle: handle,
            type: AttributeType.clientConfiguration,
            permissions: AttributePermissions(read: .open, write: writing),
            content: .clientConfiguration(characteristic: characteristic),
            maximumLength: 2,
            hasFixedLength: true
        )
    }

    fileprivate init(handle: UInt16, _ characteristic: LocalCharacteristic) {
        self.init(
            handle: handle,
            type: characteristic.uuid,
            permissions: characteristic.permissions,
            content: Content(characteristic.value),
            maximumLength: characteristic.maximumLength,
            hasFixedLength: characteristic.hasFixedLength
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
    fileprivate init(_ value: LocalValue) {
        switch value {
        case .stored(let octets): self = .stored(octets)
        case .dynamic: self = .dynamic
        }
    }
}

// MARK: - What a description adds by itself

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

    fileprivate var isSubscribable: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }

    /// The extended properties, with that which a writable user description brings along (Vol 3, Part G, 3.3.3.2).
    fileprivate var declaredExtendedProperties: CharacteristicExtendedProperties {
        let isWritable = descriptors.contains {
            $0.uuid == AttributeType.userDescription && $0.permissions.write != nil
        }
        return isWritable ? extendedProperties.union(.writableAuxiliaries) : extendedProperties
    }

    /// The properties, with the one that says whether there are extended ones put right.
    fileprivate var declaredProperties: CharacteristicProperties {
        declaredExtendedProperties.isEmpty
            ? properties.subtracting(.extendedProperties) : properties.union(.extendedProperties)
    }
}
