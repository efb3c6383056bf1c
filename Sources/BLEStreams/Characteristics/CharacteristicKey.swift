public import BLEProtocol

/// What names a characteristic, and what its value is: everything that reads, writes or subscribes takes one.
///
/// ```swift
/// let charge = try await link.read(.batteryLevel)                                  // 97, an `Int`
/// let octets = try await link.read(BluetoothUUID(0xFFF1))                          // a `CharacteristicValue`
/// let second = try await link.read(.uuid(BluetoothUUID(0xFFF1), in: .battery))     // within a service
/// let third = try await link.read(.handle(0x0012))                                 // without discovery
/// ```
///
/// A `BluetoothUUID`, a ``CharacteristicReference`` and a discovered `Characteristic` stand for octets, a
/// ``TypedCharacteristic`` for values of its type. A program gives its own keys short names in the same way:
///
/// ```swift
/// extension CharacteristicKey where Self == BluetoothUUID {
///     static var lamp: Self { BluetoothUUID(0xFFF1) }
/// }
/// ```
public protocol CharacteristicKey<Value>: Sendable {
    /// What the characteristic's octets stand for; ``CharacteristicValue`` where they stand for themselves.
    associatedtype Value: Sendable = CharacteristicValue

    /// How the characteristic is found.
    var reference: CharacteristicReference { get }

    /// What octets that were received stand for.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    func value(of octets: CharacteristicValue) throws -> Value

    /// The octets that stand for a value.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` where values are only read; ``BLEError/Code/invalidArgument`` for a value
    ///   that has no octets.
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
    /// The same, for an error that tells what was being done.
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
    /// The error as that of another operation.
    @usableFromInline
    static func renamed(_ error: any Error, _ operation: String) -> any Error {
        guard var renamed = error as? BLEError else { return error }
        renamed.operation = operation
        return renamed
    }
}

extension BluetoothUUID: CharacteristicKey {
    public typealias Value = CharacteristicValue

    /// The first characteristic of this type, in whichever service.
    public var reference: CharacteristicReference { CharacteristicReference(.uuid(self, service: nil)) }
}

extension Characteristic: CharacteristicKey {
    public typealias Value = CharacteristicValue

    /// This one, as it was discovered: an operation fails with ``BLEError/Code/servicesChanged`` when the peripheral doesn't
    /// have it like this any more.
    public var reference: CharacteristicReference { CharacteristicReference(.exactly(self)) }
}
