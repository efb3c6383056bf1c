extension GATTDatabase {
    /// The Database Hash of a server that offers exactly this; `nil` if discovery doesn't find enough to compute it:
    /// the hash includes the values of Characteristic Extended Properties.
    ///
    /// Source: Core Specification, Vol 3, Part G, 7.3.1.
    package func computedHash() -> [UInt8]? {
        var input = ByteWriter(capacity: 256)
        for service in services {
            input.declare(
                service.handle,
                service.isPrimary ? AttributeType.primaryService : AttributeType.secondaryService
            )
            input.append(service.uuid.attOctets)
            for included in service.includedServices {
                input.declare(included.handle, AttributeType.include)
                input.uint16(included.startHandle)
                input.uint16(included.endHandle)
                if included.uuid.short != nil { input.append(included.uuid.attOctets) }
            }
            for characteristic in service.characteristics {
                guard characteristic.descriptor(.characteristicExtendedProperties) == nil else { return nil }
                input.declare(characteristic.handle, AttributeType.characteristic)
                input.uint8(characteristic.properties.rawValue)
                input.uint16(characteristic.valueHandle)
                input.append(characteristic.uuid.attOctets)
                for descriptor in characteristic.descriptors where descriptor.uuid.short.map(hashed.contains) == true {
                    input.declare(descriptor.handle, descriptor.uuid)
                }
            }
        }
        return AESCMAC(key: [UInt8](repeating: 0, count: 16)).code(of: input.bytes).reversed()
    }
}

/// The descriptors that count, by handle and type.
private let hashed: ClosedRange<UInt16> = 0x2901...0x2905

extension ByteWriter {
    fileprivate mutating func declare(_ handle: UInt16, _ type: BluetoothUUID) {
        uint16(handle)
        append(type.attOctets)
    }
}
