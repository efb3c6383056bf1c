import BLEProtocol

extension CharacteristicSelector {
    /// Whether this names a characteristic of this program.
    func names(_ characteristic: DatabaseCharacteristic) -> Bool {
        switch self {
        case .uuid(let uuid, service: nil): characteristic.uuid == uuid
        case .uuid(let uuid, service: let service?):
            characteristic.uuid == uuid && characteristic.serviceUUID == service
        case .handle(let handle): characteristic.valueHandle == handle
        case .exactly(let other): characteristic.uuid == other.uuid && characteristic.valueHandle == other.valueHandle
        case .id(let id): characteristic.id == id
        }
    }
}

extension CharacteristicSelector? {
    /// Whether this names a characteristic of this program; no name names all of them, and what concerns none.
    func names(_ characteristic: DatabaseCharacteristic?) -> Bool {
        guard let self else { return true }
        return characteristic.map { self.names($0) } ?? false
    }
}

extension SharedDatabase {
    /// The first characteristic that this names, and their number.
    fileprivate func characteristics(named name: CharacteristicSelector) -> (first: DatabaseCharacteristic?, count: Int)
    {
        withLock { database in
            var (first, count): (DatabaseCharacteristic?, Int) = (nil, 0)
            for characteristic in database.characteristics where name.names(characteristic) {
                if first == nil { first = characteristic }
                count += 1
            }
            return (first, count)
        }
    }

    /// The value handles of all characteristics that this names.
    func handles(of name: CharacteristicSelector) -> Set<UInt16> {
        withLock { Set($0.characteristics.lazy.filter(name.names).map(\.valueHandle)) }
    }
}

extension PeripheralServer {
    /// The value handle of the one characteristic that this names.
    func handle(of name: CharacteristicSelector, operation: String) throws -> UInt16 {
        try characteristic(name, operation).valueHandle
    }

    private func characteristic(_ name: CharacteristicSelector, _ operation: String) throws -> DatabaseCharacteristic {
        let (first, count) = database.characteristics(named: name)
        if let first, count == 1 { return first }
        guard first == nil else {
            throw BLEError(
                .invalidArgument,
                operation: operation,
                object: "of \(name)",
                cause: "\(count) characteristics have this UUID",
                remedy: "Give each an id of its own in the LocalPeripheral, and name it by that: .id(\"left level\")."
            )
        }
        throw BLEError(
            .notFound,
            operation: operation,
            object: "of \(name)",
            cause: "this peripheral has no such characteristic",
            remedy: "Add it to the services of the LocalPeripheral."
        )
    }

    /// The same, for a value to send: it throws if no central could get the value, whoever is subscribed.
    func handle(
        of name: CharacteristicSelector,
        _ count: Int,
        _ property: Characteristic.Properties,
        operation: String
    ) throws -> UInt16 {
        let characteristic = try characteristic(name, operation)
        guard count <= ATTLimits.maximumValueLength else { throw BLEError.valueTooLong(operation, "of \(name)") }
        guard characteristic.properties.contains(property) else {
            throw BLEError.notOffered(operation, "of \(name)")
        }
        try checkIsServing(operation, name)
        return characteristic.valueHandle
    }
}
