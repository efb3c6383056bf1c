import BLEProtocol

extension LocalPeripheral {
    /// The services with the mandatory ones added, if they can be served.
    func allServices(_ services: [LocalService], operation: String) throws -> [LocalService] {
        let all = services.addingMandatoryServices(name: name, appearance: appearance)
        if let fault = AttributeDatabase.fault(in: all) {
            throw BLEError(
                .invalidArgument,
                operation: operation,
                object: name,
                cause: fault,
                remedy: "Change the declaration of its services."
            )
        }
        var names: Set<String> = []
        for service in all {
            for characteristic in service.characteristics {
                let isNew = names.insert(characteristic.id).inserted
                guard isNew else { throw describedTwice(characteristic, operation) }
                guard !characteristic.takesSignedWritesOnly else {
                    throw onlySigned(characteristic, of: service, operation)
                }
            }
        }
        return all
    }

    private func describedTwice(_ characteristic: LocalCharacteristic, _ operation: String) -> BLEError {
        BLEError(
            .invalidArgument,
            operation: operation,
            object: name,
            cause: "two characteristics have the id \(characteristic.id)",
            remedy: "Give each its own id: LocalCharacteristic(…, id: \"…\")."
        )
    }

    private func onlySigned(
        _ characteristic: LocalCharacteristic,
        of service: LocalService,
        _ operation: String
    ) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: name,
            cause:
                "characteristic \(characteristic.id) of service \(service.id) allows only signed writes; this server "
                + "can't verify signatures",
            remedy: "Declare it with .write and access: .encrypted."
        )
    }
}

extension LocalCharacteristic {
    /// Whether a central may write it only with a signature.
    fileprivate var takesSignedWritesOnly: Bool {
        properties.contains(.authenticatedSignedWrites) && properties.isDisjoint(with: [.write, .writeWithoutResponse])
    }
}
