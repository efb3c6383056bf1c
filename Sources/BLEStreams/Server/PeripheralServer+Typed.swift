import BLEProtocol

// Values with a type; each as for octets, by the UUID of the key.
extension PeripheralServer {
    /// The value of a stored characteristic whose value has a type; `nil` where it is dynamic or doesn't exist.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    public func value<Value>(of key: TypedCharacteristic<Value>) throws -> Value? {
        guard let octets = value(of: key.uuid) else { return nil }
        let value = CharacteristicValue(bytes: octets[...], time: radio.timeline.wallTime)
        return try key.value(of: value, during: "value")
    }

    /// Changes the value of a stored characteristic whose value has a type. See ``setValue(_:of:)``.
    ///
    /// - Throws: as there, and as ``TypedCharacteristic/octets(of:)``.
    public func setValue<Value>(_ value: Value, of key: TypedCharacteristic<Value>) throws {
        try setValue(try key.octets(of: value, during: "set value"), of: key.uuid)
    }

    /// Sends a notification of a value with a type to all centrals that have subscribed. See ``notify(_:of:)``.
    ///
    /// - Returns: what became of it, for each that had subscribed; perhaps nobody.
    /// - Throws: as there, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>
    ) async throws -> [NotificationOutcome] {
        try await notify(try key.octets(of: value, during: "notify"), of: key.uuid)
    }

    /// Sends a notification of a value with a type to one central. See ``notify(_:of:to:)``.
    ///
    /// - Returns: what is sent.
    /// - Throws: as there, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        to central: ConnectedCentral
    ) async throws -> NotificationOutcome {
        try await notify(try key.octets(of: value, during: "notify"), of: key.uuid, to: central)
    }
}
