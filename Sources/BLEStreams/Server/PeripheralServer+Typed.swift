import BLEProtocol
import BLERadio

// Values with a type; each as for octets, by the UUID of the key.
extension PeripheralServer {
    /// The typed value of a stored characteristic; `nil` if it is dynamic or doesn't exist.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    public func value<Value>(of key: TypedCharacteristic<Value>) throws -> Value? {
        guard let octets = value(of: key.uuid) else { return nil }
        let value = CharacteristicValue(bytes: octets[...], time: radio.timeline.wallTime)
        return try key.value(of: value, during: "value")
    }

    /// Changes the typed value of a stored characteristic. See ``setValue(_:of:)``.
    ///
    /// - Throws: as there, and as ``TypedCharacteristic/octets(of:)``.
    public func setValue<Value>(_ value: Value, of key: TypedCharacteristic<Value>) throws {
        try setValue(try key.octets(of: value, during: "set value"), of: key.uuid)
    }

    /// Sends a notification of a typed value to all subscribed centrals. See ``notify(_:of:)``.
    ///
    /// - Returns: an outcome for each subscribed central; may be empty.
    /// - Throws: as there, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>
    ) async throws -> [PeripheralServer.NotificationOutcome] {
        try await notify(try key.octets(of: value, during: "notify"), of: key.uuid)
    }

    /// Sends a notification of a typed value to one central. See ``notify(_:of:to:)``.
    ///
    /// - Returns: what is sent.
    /// - Throws: as there, and as ``TypedCharacteristic/octets(of:)``.
    @discardableResult
    public func notify<Value>(
        _ value: Value,
        of key: TypedCharacteristic<Value>,
        to central: ConnectedCentral
    ) async throws -> PeripheralServer.NotificationOutcome {
        try await notify(try key.octets(of: value, during: "notify"), of: key.uuid, to: central)
    }
}
