public import BLEProtocol

/// Names a characteristic and determines the type of its value; all reads, writes and subscriptions take a key.
///
/// ```swift
/// let charge = try await link.read(.batteryLevel)                                  // 97, an `Int`
/// let octets = try await link.read(BluetoothUUID(0xFFF1))                          // a `CharacteristicValue`
/// let second = try await link.read(.uuid(BluetoothUUID(0xFFF1), in: .battery))     // within a service
/// let third = try await link.read(.handle(0x0012))                                 // without discovery
/// ```
///
/// The value of a `BluetoothUUID`, a ``CharacteristicReference`` or a discovered `Characteristic` is octets, that of a
/// ``TypedCharacteristic`` has its type. A program names its own keys in the same way:
///
/// ```swift
/// extension CharacteristicKey where Self == BluetoothUUID {
///     static var lamp: Self { BluetoothUUID(0xFFF1) }
/// }
/// ```
public protocol CharacteristicKey<Value>: Sendable {
    /// The type of the value; ``CharacteristicValue`` if it is plain octets.
    associatedtype Value: Sendable = CharacteristicValue

    /// How to find the characteristic.
    var reference: CharacteristicReference { get }

    /// Decodes a received value.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    func value(of octets: CharacteristicValue) throws -> Value

    /// Encodes a value.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` if values can only be read; ``BLEError/Code/invalidArgument`` for a
    ///   value that can't be encoded.
    func octets(of value: Value) throws -> [UInt8]
}

extension CharacteristicKey where Value == CharacteristicValue {
    /// The same octets.
    @inlinable
    public func value(of octets: CharacteristicValue) throws -> CharacteristicValue { octets }

    /// The same octets.
    @inlinable
    public func octets(of value: CharacteristicValue) throws -> [UInt8] { Array(value) }
}

extension CharacteristicKey {
    /// The same, with the operation in the error.
    @inlinable
    func value(of octets: CharacteristicValue, during operation: String) throws -> Value {
        do {
            return try value(of: octets)
        } catch {
            throw BLEError.renamed(error, operation)
        }
    }

    @inlinable
    func octets(of value: Value, during operation: String) throws -> [UInt8] {
        do {
            return try octets(of: value)
        } catch {
            throw BLEError.renamed(error, operation)
        }
    }
}

extension BLEError {
    /// The error, attributed to another operation.
    @usableFromInline
    static func renamed(_ error: any Error, _ operation: String) -> any Error {
        guard var renamed = error as? BLEError else { return error }
        renamed.operation = operation
        return renamed
    }
}

extension BluetoothUUID: CharacteristicKey {
    /// The first characteristic of this type, in any service.
    public var reference: CharacteristicReference { CharacteristicReference(.uuid(self, service: nil)) }
}

extension Characteristic: CharacteristicKey {
    /// This characteristic, as it was discovered: an operation fails with ``BLEError/Code/servicesChanged`` if the
    /// peripheral no longer has it in this form.
    public var reference: CharacteristicReference { CharacteristicReference(.exactly(self)) }
}
