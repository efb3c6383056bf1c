import BLEStreams

extension LocalService {
    /// The same service, with the security that reading, writing and subscribing require.
    func asking(for access: AccessRequirement) -> LocalService {
        var service = self
        service.characteristics = characteristics.map { characteristic in
            var characteristic = characteristic
            characteristic.permissions = AttributePermissions(characteristic.properties, access: access)
            characteristic.subscribing = access
            return characteristic
        }
        return service
    }

    /// Whether something in it requires an authenticated link.
    var needsAuthentication: Bool { characteristics.contains { $0.subscribing.needsAuthentication } }
}
