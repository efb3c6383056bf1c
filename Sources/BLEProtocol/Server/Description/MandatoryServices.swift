extension [LocalService] {
    /// These services with the two that every device must offer in front: the Generic Access service, with the
    /// device's name and appearance, and the Generic Attribute service. One that is described already stays as it is.
    ///
    /// Source: Core Specification, Vol 3, Part C, 12, and Part G, 7.
    package func addingMandatoryServices(name: String, appearance: UInt16) -> [LocalService] {
        var missing: [LocalService] = []
        if !contains(where: { $0.uuid == GenericServices.access }) {
            missing.append(.genericAccess(name: name, appearance: appearance))
        }
        if !contains(where: { $0.uuid == GenericServices.attribute }) {
            missing.append(LocalService(GenericServices.attribute))
        }
        return missing + self
    }
}

private enum GenericServices {
    static let access = BluetoothUUID(0x1800)
    static let attribute = BluetoothUUID(0x1801)
}

extension LocalService {
    fileprivate static func genericAccess(name: String, appearance: UInt16) -> LocalService {
        let octets = [UInt8(truncatingIfNeeded: appearance), UInt8(truncatingIfNeeded: appearance >> 8)]
        return LocalService(GenericServices.access) {
            // A device's name has at most 248 octets (Vol 3, Part C, 12.1).
            LocalCharacteristic(BluetoothUUID(0x2A00), [.read], value: .text(name), maximumLength: 248)
            LocalCharacteristic(
                BluetoothUUID(0x2A01),
                [.read],
                value: .stored(octets),
                maximumLength: 2,
                hasFixedLength: true
            )
        }
    }
}
