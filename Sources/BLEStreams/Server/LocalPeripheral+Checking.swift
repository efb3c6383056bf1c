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

    /// Checks that out-of-band data to pair with says whose it is: an adapter finds it by that alone, and otherwise any
    /// central would pair by Just Works.
    func checkPairing() throws {
        guard let data = pairing?.outOfBand, data.address == nil else { return }
        throw BLEError(
            .invalidArgument,
            operation: "serve",
            object: name,
            cause: "the out-of-band data in its pairing answers doesn't include the central's address, so it would be "
                + "used for none",
            remedy: "Pass data that includes the central's address, the AD type 0x1B."
        )
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
