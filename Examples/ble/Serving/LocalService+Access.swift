import BLEStreams

extension LocalService {
    /// The same service, with what it takes to read, write and subscribe.
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

    /// Whether something in it takes an authenticated link.
    var needsAuthentication: Bool { characteristics.contains { $0.subscribing.needsAuthentication } }
}
