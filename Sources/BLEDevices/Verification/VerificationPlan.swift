import BLEProtocol

/// The expectations of a service.
struct PromisedService {
    let uuid: BluetoothUUID
    let isPrimary: Bool
    let includes: [BluetoothUUID]
    let characteristics: [PromisedCharacteristic]
}

/// The expectations of a characteristic.
struct PromisedCharacteristic {
    let uuid: BluetoothUUID
    let properties: Characteristic.Properties
    let read: Promise
    let write: Promise
    let subscribing: Promise
    let descriptors: [PromisedDescriptor]
}

/// The expectations of a descriptor.
struct PromisedDescriptor {
    let uuid: BluetoothUUID
    let read: Promise
    /// Its constant value; `nil` if it may vary.
    let value: [UInt8]?
}

/// What is known of an operation on a value.
enum Promise {
    /// It is not possible, or not promised.
    case nothing
    /// It is possible; the required security of the link is unknown.
    case somehow
    /// It is possible on a link with this security.
    case on(AccessRequirement)

    init(_ requirement: AccessRequirement?) { self = requirement.map { .on($0) } ?? .nothing }
}

// MARK: - Declared here

extension [PromisedService] {
    init(declaredBy services: [LocalService]) {
        self = services.map { service in
            PromisedService(
                uuid: service.uuid,
                isPrimary: service.isPrimary,
                includes: service.includes.compactMap { id in services.first { $0.id == id }?.uuid },
                characteristics: service.characteristics.map { PromisedCharacteristic($0) }
            )
        }
    }
}

extension PromisedCharacteristic {
    fileprivate init(_ declared: LocalCharacteristic) {
        uuid = declared.uuid
        properties = declared.declaredProperties
        read = properties.contains(.read) ? Promise(declared.permissions.read) : .nothing
        write = properties.contains(.write) ? Promise(declared.permissions.write) : .nothing
        subscribing = declared.isSubscribable ? .on(declared.subscribing) : .nothing
        var descriptors = declared.descriptors.map { PromisedDescriptor($0) }
        let extended = declared.declaredExtendedProperties
        if !extended.isEmpty {
            let octets = [UInt8(truncatingIfNeeded: extended.rawValue), UInt8(extended.rawValue >> 8)]
            descriptors.append(
                PromisedDescriptor(uuid: .characteristicExtendedProperties, read: .on(.open), value: octets)
            )
        }
        if declared.isSubscribable { descriptors.append(.configuration) }
        self.descriptors = descriptors
    }
}

extension PromisedDescriptor {
    /// Everybody may read it (Vol 3, Part G, 3.3.3.3).
    fileprivate static let configuration = PromisedDescriptor(
        uuid: .clientCharacteristicConfiguration,
        read: .on(.open),
        value: nil
    )

    fileprivate init(_ declared: LocalDescriptor) {
        uuid = declared.uuid
        read = Promise(declared.permissions.read)
        // A writable or computed descriptor may have any value.
        if case .stored(let octets) = declared.value, declared.permissions.write == nil {
            value = octets
        } else {
            value = nil
        }
    }
}

// MARK: - Claimed by the peripheral itself

extension [PromisedService] {
    /// The promises of a peripheral's properties, and the descriptors that the specification requires for them.
    init(claimedBy database: GATTDatabase) {
        self = database.services.map { service in
            PromisedService(
                uuid: service.uuid,
                isPrimary: service.isPrimary,
                includes: service.includedServices.map(\.uuid),
                characteristics: service.characteristics.map { PromisedCharacteristic($0) }
            )
        }
    }
}

extension PromisedCharacteristic {
    fileprivate init(_ found: Characteristic) {
        uuid = found.uuid
        properties = found.properties
        read = properties.contains(.read) ? .somehow : .nothing
        write = properties.contains(.write) ? .somehow : .nothing
        let isSubscribable = !properties.isDisjoint(with: [.notify, .indicate])
        subscribing = isSubscribable ? .somehow : .nothing
        var descriptors = found.descriptors.map { descriptor in
            let isOpen = descriptor.uuid == .clientCharacteristicConfiguration
            return PromisedDescriptor(uuid: descriptor.uuid, read: isOpen ? .on(.open) : .somehow, value: nil)
        }
        if isSubscribable, found.clientConfiguration == nil { descriptors.append(.configuration) }
        if properties.contains(.extendedProperties), found.descriptor(.characteristicExtendedProperties) == nil {
            descriptors.append(
                PromisedDescriptor(uuid: .characteristicExtendedProperties, read: .on(.open), value: nil)
            )
        }
        self.descriptors = descriptors
    }
}
