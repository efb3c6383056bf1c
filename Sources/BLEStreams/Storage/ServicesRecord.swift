import BLEProtocol
import FoundationEssentials

/// A peer's attributes at the last link, as stored in its file: services, characteristics and descriptors with their
/// handles, and the Database Hash, if it has one, which shows whether they are still valid.
struct ServicesRecord: Codable, Equatable, Sendable {
    struct Service: Codable, Equatable, Sendable {
        var uuid: String
        var isPrimary: Bool
        var handle: UInt16
        var endHandle: UInt16
        var includes: [Include]
        var characteristics: [Characteristic]
    }

    struct Include: Codable, Equatable, Sendable {
        var uuid: String
        var handle: UInt16
        var startHandle: UInt16
        var endHandle: UInt16
    }

    struct Characteristic: Codable, Equatable, Sendable {
        var uuid: String
        var properties: UInt8
        var handle: UInt16
        var valueHandle: UInt16
        var endHandle: UInt16
        var descriptors: [Descriptor]
    }

    struct Descriptor: Codable, Equatable, Sendable {
        var uuid: String
        var handle: UInt16
    }

    /// 16 octets, in the order on air; empty if the peer has no hash.
    var databaseHash: Data
    /// Whether it has changed without a means to announce that; absent: no.
    var mayChange: Bool?
    var services: [Service]
}

extension ServicesRecord {
    init(_ remembered: RememberedDatabase) {
        databaseHash = Data(remembered.hash ?? [])
        mayChange = remembered.mayChange ? true : nil
        services = remembered.database.services.map { service in
            Service(
                uuid: service.uuid.description,
                isPrimary: service.isPrimary,
                handle: service.handle,
                endHandle: service.endHandle,
                includes: service.includedServices.map {
                    Include(
                        uuid: $0.uuid.description,
                        handle: $0.handle,
                        startHandle: $0.startHandle,
                        endHandle: $0.endHandle
                    )
                },
                characteristics: service.characteristics.map { Characteristic($0) }
            )
        }
    }

    /// The remembered attributes; `nil` if the file was edited and is no longer consistent.
    var remembered: RememberedDatabase? {
        guard databaseHash.isEmpty || databaseHash.count == 16 else { return nil }
        var database = GATTDatabase()
        for service in services {
            guard let decoded = service.decoded else { return nil }
            database.services.append(decoded)
        }
        return RememberedDatabase(
            database: database,
            hash: databaseHash.isEmpty ? nil : Array(databaseHash),
            mayChange: mayChange ?? false
        )
    }
}

extension ServicesRecord.Service {
    fileprivate var decoded: GATTService? {
        guard let uuid = BluetoothUUID(uuid), handle > 0, handle <= endHandle else { return nil }
        var service = GATTService(uuid: uuid, isPrimary: isPrimary, handle: handle, endHandle: endHandle)
        for include in includes {
            guard let uuid = BluetoothUUID(include.uuid) else { return nil }
            service.includedServices.append(
                GATTService.Inclusion(
                    uuid: uuid,
                    handle: include.handle,
                    startHandle: include.startHandle,
                    endHandle: include.endHandle
                )
            )
        }
        for characteristic in characteristics {
            guard let decoded = characteristic.decoded else { return nil }
            service.characteristics.append(decoded)
        }
        return service
    }
}

extension ServicesRecord.Characteristic {
    init(_ characteristic: Characteristic) {
        self.init(
            uuid: characteristic.uuid.description,
            properties: characteristic.properties.rawValue,
            handle: characteristic.handle,
            valueHandle: characteristic.valueHandle,
            endHandle: characteristic.endHandle,
            descriptors: characteristic.descriptors.map {
                ServicesRecord.Descriptor(uuid: $0.uuid.description, handle: $0.handle)
            }
        )
    }

    /// `nil` if the file was edited and is no longer consistent.
    var decoded: Characteristic? {
        guard let uuid = BluetoothUUID(uuid), handle > 0, handle < valueHandle, valueHandle <= endHandle else {
            return nil
        }
        var characteristic = Characteristic(
            uuid: uuid,
            properties: Characteristic.Properties(rawValue: properties),
            handle: handle,
            valueHandle: valueHandle,
            endHandle: endHandle
        )
        for descriptor in descriptors {
            guard let uuid = BluetoothUUID(descriptor.uuid) else { return nil }
            characteristic.descriptors.append(Descriptor(uuid: uuid, handle: descriptor.handle))
        }
        return characteristic
    }
}
