public import BLEProtocol

extension PeripheralServer {
    /// The value of a stored characteristic; `nil` if it is dynamic or doesn't exist. If several have this UUID, the
    /// first one's.
    public func value(of uuid: BluetoothUUID) -> [UInt8]? { value(.uuid(uuid)) }

    /// The value of the stored characteristic with this ``LocalCharacteristic/id``; `nil` where it is dynamic or doesn't
    /// exist.
    public func value(of id: String) -> [UInt8]? { value(.id(id)) }

    /// Changes the value of a stored characteristic; this alone sends no notification.
    ///
    /// - Throws: ``BLEError/Code/notFound`` if it doesn't exist or is dynamic; ``BLEError/Code/overflow`` if the value
    ///   is longer than the characteristic allows; ``BLEError/Code/invalidArgument`` if several have this UUID.
    public func setValue(_ value: some Collection<UInt8>, of uuid: BluetoothUUID) throws {
        try setValue(Array(value), .uuid(uuid))
    }

    /// Changes the value of the stored characteristic with this ``LocalCharacteristic/id``. See ``setValue(_:of:)``.
    ///
    /// - Throws: as for a UUID.
    public func setValue(_ value: some Collection<UInt8>, of id: String) throws {
        try setValue(Array(value), .id(id))
    }

    /// The longest value of the attribute with this handle.
    func maximumLength(at handle: UInt16) -> Int {
        database.withLock { $0.attribute(at: handle)?.maximumLength } ?? 0
    }

    /// Stores a value that a closure has taken, where the characteristic is still the same and its value is stored.
    func store(_ value: [UInt8], at handle: UInt16, of id: String) {
        database.withLock { database in
            guard database.characteristic(at: handle)?.id == id else { return }
            _ = database.store(value, at: handle)
        }
    }

    private func value(_ name: LocalName) -> [UInt8]? {
        guard let handle = database.handles(of: name).min() else { return nil }
        return database.withLock { $0.value(at: handle) }
    }

    private func setValue(_ value: [UInt8], _ name: LocalName) throws {
        let handle = try handle(of: name, operation: "set value")
        let (isStored, isTaken) = database.withLock { database in
            (database.value(at: handle) != nil, database.store(value, at: handle))
        }
        guard isTaken else {
            throw BLEError(
                isStored ? .overflow : .notFound,
                operation: "set value",
                object: "of \(name)",
                cause: isStored ? "its values can't have \(value.count) octets" : "its value is not stored",
                remedy: isStored
                    ? "Declare the characteristic with a larger maximumLength." : "Declare it as .stored."
            )
        }
    }
}
