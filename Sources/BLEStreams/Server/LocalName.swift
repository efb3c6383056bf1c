import BLEProtocol

/// How a program refers to one of its own characteristics.
enum LocalName: Hashable, Sendable, CustomStringConvertible {
    case uuid(BluetoothUUID)
    /// ``LocalCharacteristic/id``.
    case id(String)

    var description: String {
        switch self {
        case .uuid(let uuid): uuid.description
        case .id(let id): id
        }
    }

    fileprivate func names(_ characteristic: DatabaseCharacteristic) -> Bool {
        switch self {
        case .uuid(let uuid): characteristic.uuid == uuid
        case .id(let id): characteristic.id == id
        }
    }
}

extension SharedDatabase {
    /// The first characteristic of this name, and how many there are.
    fileprivate func characteristics(named name: LocalName) -> (first: DatabaseCharacteristic?, count: Int) {
        withLock { database in
            var (first, count): (DatabaseCharacteristic?, Int) = (nil, 0)
            for characteristic in database.characteristics where name.names(characteristic) {
                if first == nil { first = characteristic }
                count += 1
            }
            return (first, count)
        }
    }

    /// The value handles of all characteristics of this name.
    func handles(of name: LocalName) -> Set<UInt16> {
        withLock { Set($0.characteristics.lazy.filter(name.names).map(\.valueHandle)) }
    }
}

extension PeripheralServer {
    /// The value handle of the one characteristic of this name.
    func handle(of name: LocalName, operation: String) throws -> UInt16 {
        try characteristic(name, operation).valueHandle
    }

    private func characteristic(_ name: LocalName, _ operation: String) throws -> DatabaseCharacteristic {
        let (first, count) = database.characteristics(named: name)
        if let first, count == 1 { return first }
        guard first == nil else {
            throw BLEError(
                .invalidArgument,
                operation: operation,
                object: "of \(name)",
                cause: "\(count) characteristics have this UUID",
                remedy: "Give each its own id in the LocalPeripheral, and refer to it by that id."
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

    /// The same, for a value that is sent: what no central could get is refused, whoever is subscribed.
    func handle(
        of name: LocalName,
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
