public import BLEProtocol

/// A characteristic whose value has a type of its own: what it is called on air, how its octets are read, and how they are
/// written.
///
/// ```swift
/// extension CharacteristicKey where Self == TypedCharacteristic<Int16> {
///     /// In hundredths of a degree Celsius.
///     static var boilerTemperature: Self {
///         TypedCharacteristic(BluetoothUUID(0xFFF4)) { reader throws(MalformedValue) in
///             try reader.int16()
///         } encode: { value, writer throws(MalformedValue) in
///             writer.int16(value)
///         }
///     }
/// }
/// let now = try await link.read(.boilerTemperature)
/// ```
///
/// One key serves both sides: a central reads, subscribes and writes with it, a peripheral describes its characteristic with
/// it (``LocalCharacteristic``) and sends values. What is only read needs no `encode`. Where a peripheral has
/// several characteristics of the type, ``at(_:)`` names one of them.
public struct TypedCharacteristic<Value: Sendable>: Sendable {
    /// Its type on air.
    public let uuid: BluetoothUUID

    /// The service that it is looked for in; `nil`: in all.
    public let service: BluetoothUUID?

    /// How a central finds it.
    public let reference: CharacteristicReference

    let decode: @Sendable (inout ValueReader) throws(MalformedValue) -> Value

    /// `nil`: values are only read.
    let encode: (@Sendable (Value, inout ValueWriter) throws(MalformedValue) -> Void)?

    /// Describes a characteristic; the closures read and write the value's fields in the order in which they lie on air.
    ///
    /// - Parameters:
    ///   - uuid: its type on air.
    ///   - service: the service that it is looked for in; `nil`: all.
    ///   - decode: reads a value, or says why the octets are none.
    ///   - encode: writes a value, or says why it has no octets; `nil`: values are only read.
    public init(
        _ uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        decode: @escaping @Sendable (inout ValueReader) throws(MalformedValue) -> Value,
        encode: (@Sendable (Value, inout ValueWriter) throws(MalformedValue) -> Void)? = nil
    ) {
        self.init(uuid, service, .uuid(uuid, in: service), decode: decode, encode: encode)
    }

    private init(
        _ uuid: BluetoothUUID,
        _ service: BluetoothUUID?,
        _ reference: CharacteristicReference,
        decode: @escaping @Sendable (inout ValueReader) throws(MalformedValue) -> Value,
        encode: (@Sendable (Value, inout ValueWriter) throws(MalformedValue) -> Void)?
    ) {
        self.uuid = uuid
        self.service = service
        self.reference = reference
        self.decode = decode
        self.encode = encode
    }

    /// Values of the same type at another characteristic, or at one of several: one that was discovered, one that is named by
    /// its handle, or the one in a service.
    ///
    /// ```swift
    /// let second = try await link.read(TypedCharacteristic.batteryLevel.at(.handle(0x0023)))
    /// ```
    public func at(_ place: some CharacteristicKey) -> TypedCharacteristic {
        let reference = place.reference
        return TypedCharacteristic(reference.uuid ?? uuid, service, reference, decode: decode, encode: encode)
    }
}

extension TypedCharacteristic: CharacteristicKey {
    /// Writes the fields of a value that goes another way.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` where the characteristic was described without `encode`;
    ///   ``BLEError/Code/invalidArgument`` for a value that has no octets.
    public func octets(of value: Value) throws -> [UInt8] {
        guard let encode else {
            throw BLEError(
                .notSupported,
                operation: "encode",
                object: "\(uuid)",
                cause: "the key says how a value is read, and not how it is written",
                remedy: "Give the TypedCharacteristic an `encode:`, or use the octets and the UUID."
            )
        }
        var writer = ValueWriter()
        do throws(MalformedValue) {
            try encode(value, &writer)
        } catch {
            throw BLEError(.invalidArgument, operation: "encode", object: "\(uuid)", cause: error.reason)
        }
        return writer.octets
    }

    /// Reads the fields of a value that came by another way, a fleet's stream for one.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    public func value(of octets: CharacteristicValue) throws -> Value {
        var reader = ValueReader(octets)
        do throws(MalformedValue) {
            return try decode(&reader)
        } catch {
            var malformed = BLEError(
                .malformedValue,
                operation: "decode",
                object: "\(uuid)",
                cause: error.reason,
                remedy: "Check that the peripheral follows the specification of this characteristic."
            )
            malformed.received = Array(octets)
            throw malformed
        }
    }
}

/// Why octets are not a value of the type that was asked for.
public struct MalformedValue: Error, Hashable {
    /// The reason, in words: `2 octets were expected at offset 1`.
    public var reason: String

    /// Makes an error with its reason.
    public init(_ reason: String) { self.reason = reason }
}
