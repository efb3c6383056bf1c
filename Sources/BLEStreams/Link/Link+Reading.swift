public import BLEProtocol
import BLERadio

extension Link {
    /// Reads a characteristic; a long value is read to its end (512 octets at most).
    ///
    /// - Parameters:
    ///   - uuid: its type; where the peripheral has several of it, the first one.
    ///   - service: the service that it is looked for in; `nil`: all.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/attributeError``, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func read(
        _ uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        timeout: Duration? = nil
    ) async throws -> CharacteristicValue {
        try await read(.uuid(uuid, service: service), timeout: timeout)
    }

    /// Reads a characteristic that was discovered. See ``read(_:in:timeout:)``.
    ///
    /// - Throws: as there, and ``BLEError/Code/servicesChanged`` when the peripheral doesn't have it like this any more.
    public func read(_ characteristic: Characteristic, timeout: Duration? = nil) async throws -> CharacteristicValue {
        try await read(.exactly(characteristic), timeout: timeout)
    }

    /// Reads a characteristic whose value has a type. See ``read(_:in:timeout:)``.
    ///
    /// - Throws: as there, and ``BLEError/Code/malformedValue``.
    public func read<Value>(
        _ characteristic: TypedCharacteristic<Value>,
        timeout: Duration? = nil
    ) async throws -> Value {
        let value = try await read(characteristic.uuid, in: characteristic.service, timeout: timeout)
        return try characteristic.value(of: value, operation: "read")
    }

    /// Reads an attribute by its handle, without discovery: a value or a descriptor.
    public func read(handle: UInt16, timeout: Duration? = nil) async throws -> CharacteristicValue {
        let object = OperationObject(.of, .handle(handle), peripheral.address)
        let octets: [UInt8] = try await perform(
            ReadValue(handle: handle),
            operation: "read",
            object: object,
            timeout: timeout
        )
        return CharacteristicValue(bytes: octets[...], time: timeline.wallTime)
    }

    private func read(_ selector: CharacteristicSelector, timeout: Duration?) async throws -> CharacteristicValue {
        let octets: [UInt8] = try await perform(selector, "read", anyOf: .read, timeout) {
            ReadValue(handle: $0.valueHandle)
        }
        return CharacteristicValue(bytes: octets[...], time: timeline.wallTime)
    }
}
