extension [LocalService] {
    /// These services with the two that every device must offer in front: the Generic Access service, with the
    /// device's name and appearance, and the Generic Attribute service. One that is described already stays as it is.
    ///
    /// - Parameter canChange: whether the services may change while clients remember them: then the Generic Attribute
    ///   service lets clients subscribe to changes, and compare. Without it they may assume that nothing changes.
    ///
    /// Source: Core Specification, Vol 3, Part C, 12, and Part G, 7.
    package func addingMandatoryServices(
        name: String,
        appearance: UInt16,
        canChange: Bool = true
    ) -> [LocalService] {
        var missing: [LocalService] = []
        if !contains(where: { $0.uuid == .genericAccess }) {
            missing.append(.genericAccess(name: name, appearance: appearance))
        }
        if !contains(where: { $0.uuid == .genericAttribute }) {
            missing.append(canChange ? .genericAttribute : LocalService(.genericAttribute))
        }
        return missing + self
    }
}

extension LocalService {
    fileprivate static func genericAccess(name: String, appearance: UInt16) -> LocalService {
        let octets = [UInt8(truncatingIfNeeded: appearance), UInt8(truncatingIfNeeded: appearance >> 8)]
        return LocalService(.genericAccess) {
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

    /// What a server needs whose clients keep what they discovered. The server fills in the values by itself.
    fileprivate static let genericAttribute = LocalService(.genericAttribute) {
        LocalCharacteristic(BluetoothUUID.Characteristics.serviceChanged, [.indicate], maximumLength: 4)
        LocalCharacteristic(BluetoothUUID.Characteristics.clientSupportedFeatures, [.read, .write])
        LocalCharacteristic(BluetoothUUID.Characteristics.databaseHash, [.read], maximumLength: 16)
    }
}
