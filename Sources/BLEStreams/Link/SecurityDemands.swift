import BLEProtocol

/// How secure a link has to be for the use of which characteristics, as the program has named them.
struct SecurityDemands: Equatable {
    private var levels: [CharacteristicSelector: LinkSecurity.Level] = [:]

    var isEmpty: Bool { levels.isEmpty }

    subscript(selector: CharacteristicSelector) -> LinkSecurity.Level? {
        get { levels[selector] }
        set { levels[selector] = newValue }
    }

    /// The highest level that is demanded for a characteristic of this database; `nil`: none is.
    func level(for characteristic: Characteristic, in database: GATTDatabase) -> LinkSecurity.Level? {
        if levels.isEmpty { return nil }
        return levels.lazy.filter { $0.key.demands(characteristic, in: database) }.map(\.value).max()
    }

    /// The highest level that is demanded for what a procedure reads or writes: characteristics, or descriptors of theirs.
    func level(for procedure: any GATTProcedure, in database: GATTDatabase) -> LinkSecurity.Level? {
        if levels.isEmpty { return nil }
        let (handles, type) = (procedure.handles, procedure.attributeType)
        var used = handles.compactMap { database.characteristic(containing: $0) }
        if let type {
            used += database.services.flatMap(\.characteristics).filter {
                $0.uuid == type || $0.descriptor(type) != nil
            }
        }
        // Also where the database doesn't know what the procedure names.
        let named = levels.lazy.filter { $0.key.isNamed(by: handles, type) }.map(\.value)
        return (used.compactMap { level(for: $0, in: database) } + named).max()
    }
}

extension CharacteristicSelector {
    /// Whether a procedure names what this does, by one of its handles or the type.
    fileprivate func isNamed(by handles: [UInt16], _ type: BluetoothUUID?) -> Bool {
        switch self {
        case .uuid(let uuid, _): uuid == type
        case .handle(let handle): handles.contains(handle)
        case .exactly(let characteristic):
            characteristic.uuid == type || handles.contains(characteristic.valueHandle)
        case .id: false
        }
    }

    /// Whether what is demanded of the characteristic that this names is demanded of that one.
    fileprivate func demands(_ characteristic: Characteristic, in database: GATTDatabase) -> Bool {
        switch self {
        case .uuid(let uuid, service: nil): characteristic.uuid == uuid
        case .uuid(let uuid, service: let service?):
            characteristic.uuid == uuid
                && database.services.contains { $0.uuid == service && $0.characteristics.contains(characteristic) }
        case .handle(let handle): database.characteristic(containing: handle) == characteristic
        // Once it is no more where it was, any of its type may be it.
        case .exactly(let wanted):
            characteristic.uuid == wanted.uuid
                && (characteristic.valueHandle == wanted.valueHandle
                    || database.characteristic(valueHandle: wanted.valueHandle)?.uuid != wanted.uuid)
        case .id: false
        }
    }
}
