import BLEProtocol

/// How a program names a characteristic of its own.
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
    /// The value handles of all characteristics of this name.
    func handles(of name: LocalName) -> Set<UInt16> {
        withLock { Set($0.characteristics.lazy.filter(name.names).map(\.valueHandle)) }
    }
}

extension PeripheralServer {
    /// The value handle of the one characteristic of this name.
    func handle(of name: LocalName, operation: String) throws -> UInt16 {
        let handles = database.handles(of: name)
        if let handle = handles.first, handles.count == 1 { return handle }
        guard handles.isEmpty else {
            throw BLEError(
                .invalidArgument,
                operation: operation,
                object: "of \(name)",
                cause: "\(handles.count) characteristics have this UUID",
                remedy: "Give each an id of its own in the LocalPeripheral, and name it by that."
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
        _ property: CharacteristicProperties,
        operation: String
    ) throws -> UInt16 {
        let handle = try handle(of: name, operation: operation)
        guard count <= ATTLimits.maximumValueLength else { throw BLEError.valueTooLong(operation, "of \(name)") }
        let properties = database.withLock { $0.characteristic(at: handle)?.properties } ?? []
        guard properties.contains(property) else { throw BLEError.notOffered(operation, "of \(name)") }
        try checkIsServing(operation, "of \(name)")
        return handle
    }
}
