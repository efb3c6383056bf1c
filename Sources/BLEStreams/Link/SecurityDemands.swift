import BLEProtocol

/// The security that a link must have for certain characteristics, as the program has named them.
struct SecurityDemands: Equatable {
    private var levels: [CharacteristicSelector: LinkSecurity.Level] = [:]

    /// All of these demands; of two for the same, the higher level applies.
    init(_ demands: [SecurityDemands] = []) {
        for one in demands { levels.merge(one.levels) { max($0, $1) } }
    }

    var isEmpty: Bool { levels.isEmpty }

    subscript(selector: CharacteristicSelector) -> LinkSecurity.Level? {
        get { levels[selector] }
        set { levels[selector] = newValue }
    }

    /// The highest level demanded for a characteristic of this database; `nil` if none is.
    func level(for characteristic: Characteristic, in database: GATTDatabase) -> LinkSecurity.Level? {
        if levels.isEmpty { return nil }
        return levels.lazy.filter { $0.key.demands(characteristic, in: database) }.map(\.value).max()
    }

    /// The highest level demanded for what a procedure reads or writes: characteristics or their descriptors.
    func level(for procedure: any GATTProcedure, in database: GATTDatabase) -> LinkSecurity.Level? {
        if levels.isEmpty { return nil }
        let (handles, type) = (procedure.handles, procedure.attributeType)
        var used = handles.compactMap { database.characteristic(containing: $0) }
        if let type {
            used += database.services.flatMap(\.characteristics).filter {
                $0.uuid == type || $0.descriptor(type) != nil
            }
        }
        // Applies even if the database doesn't contain what the procedure names.
        let named = levels.lazy.filter { $0.key.isNamed(by: handles, type) }.map(\.value)
        return (used.compactMap { level(for: $0, in: database) } + named).max()
    }
}

extension CharacteristicSelector {
    /// Whether a procedure names the same, by one of its handles or its type.
    fileprivate func isNamed(by handles: [UInt16], _ type: BluetoothUUID?) -> Bool {
        switch self {
        case .uuid(let uuid, _): uuid == type
        case .handle(let handle): handles.contains(handle)
        case .exactly(let characteristic):
            characteristic.uuid == type || handles.contains(characteristic.valueHandle)
        case .id: false
        }
    }

    /// Whether a demand for this selector applies to that characteristic.
    fileprivate func demands(_ characteristic: Characteristic, in database: GATTDatabase) -> Bool {
        switch self {
        case .uuid(let uuid, service: nil): characteristic.uuid == uuid
        case .uuid(let uuid, service: let service?):
            characteristic.uuid == uuid
                && database.services.contains { $0.uuid == service && $0.characteristics.contains(characteristic) }
        case .handle(let handle): database.characteristic(containing: handle) == characteristic
        // Once it is no longer where it was, any characteristic of its type may be it.
        case .exactly(let wanted):
            characteristic.uuid == wanted.uuid
                && (characteristic.valueHandle == wanted.valueHandle
                    || database.characteristic(valueHandle: wanted.valueHandle)?.uuid != wanted.uuid)
        case .id: false
        }
    }
}
