import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// The octets of a stored characteristic; `nil` if it is dynamic or doesn't exist. If the key names several, those
    /// of the first one.
    public func value(of key: some CharacteristicKey) -> [UInt8]? {
        guard let handle = database.handles(of: key.reference.selector).min() else { return nil }
        return database.withLock { $0.value(at: handle) }
    }

    /// The value of a stored characteristic; `nil` if it is dynamic or doesn't exist.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    public func value<Value>(of key: TypedCharacteristic<Value>) throws -> Value? {
        guard let octets: [UInt8] = value(of: key.reference) else { return nil }
        let value = CharacteristicValue(bytes: octets[...], time: radio.timeline.wallTime)
        return try key.value(of: value, during: "value")
    }

    /// Changes the octets of a stored characteristic; this alone sends no notification. A central that is reading a
    /// long value in parts reads the former one to its end.
    ///
    /// - Throws: ``BLEError/Code/notFound`` if it doesn't exist or is dynamic; ``BLEError/Code/overflow`` if the value
    ///   is longer than the characteristic allows; ``BLEError/Code/invalidArgument`` if it is shorter than the
    ///   characteristic's fixed length, or if the key names several.
    public func setValue(
        _ octets: some Collection<UInt8>,
        of key: some CharacteristicKey<CharacteristicValue>
    ) throws { try store(Array(octets), key.reference.selector) }

    /// Changes the value of a stored characteristic with a typed value.
    ///
    /// - Throws: as for octets, and as ``TypedCharacteristic/octets(of:)``.
    public func setValue<Value>(_ value: Value, of key: TypedCharacteristic<Value>) throws {
        try store(try key.octets(of: value, during: "set value"), key.reference.selector)
    }

    /// The longest value of the attribute with this handle.
    func maximumLength(at handle: UInt16) -> Int {
        database.withLock { $0.attribute(at: handle)?.maximumLength } ?? 0
    }

    /// The value after a write that leaves a part of the one that is stored now; `nil` if the characteristic is no
    /// longer the same, or doesn't store its value.
    func value(after change: AttributeWrites, of id: String) throws(ATTError) -> [UInt8]? {
        let outcome = database.withLock { Self.value(after: change, of: id, in: $0) }
        guard let outcome else { return nil }
        return try outcome.get()
    }

    /// Stores a value that a closure has accepted, if the characteristic is still the same and stores its value.
    ///
    /// - Parameter change: the write that has led to the value, if it leaves a part of the one that is stored.
    /// - Returns: `false` if that write leads to another value now, since what it leaves has changed: then nothing is
    ///   stored.
    func store(_ value: [UInt8], after change: AttributeWrites?, at handle: UInt16, of id: String) -> Bool {
        database.withLock { database -> Bool in
            guard database.characteristic(at: handle)?.id == id else { return true }
            if let change, let outcome = Self.value(after: change, of: id, in: database) {
                guard (try? outcome.get()) == value else { return false }
            }
            _ = database.store(value, at: handle)
            return true
        }
    }

    private static func value(
        after change: AttributeWrites,
        of id: String,
        in database: AttributeDatabase
    ) -> Result<[UInt8], ATTError>? {
        guard database.characteristic(at: change.handle)?.id == id,
            let attribute = database.attribute(at: change.handle), let current = database.value(at: change.handle)
        else { return nil }
        do throws(ATTError) {
            return .success(try change.merged(into: current, of: attribute))
        } catch {
            return .failure(error)
        }
    }

    private func store(_ value: [UInt8], _ name: CharacteristicSelector) throws {
        let handle = try handle(of: name, operation: "set value")
        let (attribute, isTaken) = database.withLock { database in
            (database.attribute(at: handle), database.store(value, at: handle))
        }
        if !isTaken { throw BLEError.cannotStore(value.count, in: attribute, object: "of \(name)") }
    }
}

extension BLEError {
    /// Why a stored value can't have so many octets, or is none.
    fileprivate static func cannotStore(_ count: Int, in attribute: Attribute?, object: String) -> BLEError {
        let operation = "set value"
        guard let attribute, case .stored = attribute.content else {
            return BLEError(
                .notFound,
                operation: operation,
                object: object,
                cause: "its value is not stored",
                remedy: "Declare it as .stored."
            )
        }
        let longest = attribute.maximumLength
        if attribute.hasFixedLength {
            return BLEError(
                count < longest ? .invalidArgument : .overflow,
                operation: operation,
                object: object,
                cause: "its values always have \(longest) octets, and this one has \(count)",
                remedy: "Pass \(longest) octets, or change hasFixedLength or maximumLength in its declaration."
            )
        }
        guard count <= ATTLimits.maximumValueLength else {
            return valueTooLong(operation, object, limit: "Store at most 512 octets.")
        }
        return BLEError(
            .overflow,
            operation: operation,
            object: object,
            cause: "its values have at most \(longest) octets, and this one has \(count)",
            remedy: "Declare the characteristic with a larger maximumLength."
        )
    }
}
