public import BLEProtocol

/// A characteristic with a typed value: its UUID, and how to decode and encode its value.
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
/// One key serves both sides: a central reads, subscribes and writes with it; a peripheral declares its characteristic
/// with it (``LocalCharacteristic``) and sends values. A value that is only read needs no `encode`. If a peripheral has
/// several characteristics of the type, ``at(_:)`` names one of them.
public struct TypedCharacteristic<Value: Sendable>: Sendable {
    /// Its UUID.
    public let uuid: BluetoothUUID

    /// The service in which to look for it; `nil`: all services.
    public let service: BluetoothUUID?

    /// How a central finds it.
    public let reference: CharacteristicReference

    let decode: @Sendable (inout ValueReader) throws(MalformedValue) -> Value

    /// `nil`: values can only be read.
    let encode: (@Sendable (Value, inout ValueWriter) throws(MalformedValue) -> Void)?

    /// Declares a characteristic; the closures read and write the value's fields in the order on air.
    ///
    /// - Parameters:
    ///   - uuid: its UUID.
    ///   - service: the service in which to look for it; `nil`: all services.
    ///   - decode: reads a value, or throws the reason why the octets are invalid.
    ///   - encode: writes a value, or throws the reason why it can't be encoded; `nil`: values can only be read.
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

    /// The same value type for another characteristic, or for one of several: a discovered one, one named by its
    /// handle, or the one in a service.
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
    /// Encodes a value that is sent in another way.
    ///
    /// - Throws: ``BLEError/Code/notSupported`` if the characteristic was declared without `encode`;
    ///   ``BLEError/Code/invalidArgument`` for a value that can't be encoded.
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
            throw BLEError(
                .invalidArgument,
                operation: "encode",
                object: "\(uuid)",
                cause: error.reason,
                remedy: "Pass a value that the characteristic's format has room for."
            )
        }
        return writer.octets
    }

    /// Decodes a value that was received in another way, for example from a fleet's stream.
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
