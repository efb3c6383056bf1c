extension AttributeDatabase {
    /// The fault of a description, as a part of a sentence; `nil` if it can be laid out.
    package static func fault(in services: [LocalService]) -> String? {
        for service in services {
            for included in service.includes {
                if included == service.id { return "service \(service.id) includes itself" }
                if !services.contains(where: { $0.id == included }) {
                    return "service \(service.id) includes \(included), which is not among the services"
                }
            }
            for characteristic in service.characteristics {
                if let fault = fault(in: characteristic) {
                    return "characteristic \(characteristic.id) of service \(service.id) \(fault)"
                }
            }
        }
        // Handles have 16 bits, and 0 is not a handle.
        let count = services.reduce(0) { $0 + $1.attributeCount }
        return count > 0xFFFF ? "the services have \(count) attributes, and at most 65535 are possible" : nil
    }

    private static func fault(in characteristic: LocalCharacteristic) -> String? {
        if let fault = characteristic.fault { return fault }
        if let fault = fault(in: characteristic.value, maximumLength: characteristic.maximumLength) { return fault }
        if characteristic.hasFixedLength, case .stored(let value) = characteristic.value,
            value.count != characteristic.maximumLength
        {
            return "has a fixed length of \(characteristic.maximumLength) octets and a value of \(value.count)"
        }
        for descriptor in characteristic.descriptors {
            if [.clientCharacteristicConfiguration, .characteristicExtendedProperties].contains(descriptor.uuid) {
                return "declares descriptor \(descriptor.uuid), which is added automatically"
            }
            if let fault = fault(in: descriptor.value, maximumLength: descriptor.maximumLength) {
                return "has a descriptor \(descriptor.uuid) that \(fault)"
            }
        }
        return nil
    }

    private static func fault(in value: LocalCharacteristic.Value, maximumLength: Int) -> String? {
        guard (0...ATTLimits.maximumValueLength).contains(maximumLength) else {
            return "has a maximum length of \(maximumLength) octets; 0 to 512 are possible"
        }
        guard case .stored(let octets) = value, octets.count > maximumLength else { return nil }
        return "has a value of \(octets.count) octets, longer than its maximum length of \(maximumLength)"
    }
}
