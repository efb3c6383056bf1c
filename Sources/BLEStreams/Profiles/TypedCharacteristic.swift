public import BLEProtocol

/// A characteristic whose value has a type of its own: what it is called on air, and how its octets are read.
///
/// ```swift
/// extension TypedCharacteristic where Value == Int16 {
///     /// In hundredths of a degree Celsius.
///     static var temperature: Self {
///         TypedCharacteristic(BluetoothUUID(0x2A6E)) { reader throws(MalformedValue) in try reader.int16() }
///     }
/// }
/// let now = try await link.read(.temperature)
/// ```
public struct TypedCharacteristic<Value: Sendable>: Sendable {
    /// Its type on air.
    public let uuid: BluetoothUUID

    /// The service that it is looked for in; `nil`: in all.
    public let service: BluetoothUUID?

    let decode: @Sendable (inout ValueReader) throws(MalformedValue) -> Value

    /// Describes a characteristic; the closure reads the value's fields in the order in which they lie on air.
    public init(
        _ uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        decode: @escaping @Sendable (inout ValueReader) throws(MalformedValue) -> Value
    ) {
        self.uuid = uuid
        self.service = service
        self.decode = decode
    }

    /// Reads the fields of a value that came by another way, a fleet's stream for one.
    ///
    /// - Throws: ``BLEError/Code/malformedValue``.
    public func value(of octets: CharacteristicValue) throws -> Value { try value(of: octets, operation: "decode") }

    func value(of octets: CharacteristicValue, operation: String) throws -> Value {
        var reader = ValueReader(octets)
        do throws(MalformedValue) {
            return try decode(&reader)
        } catch {
            var malformed = BLEError(
                .malformedValue,
                operation: operation,
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

/// Reads the fields of a value, least significant octet first, and tells when they run out.
public struct ValueReader {
    private let octets: ArraySlice<UInt8>
    private var position: Int

    /// What has not been read yet.
    public var remaining: ArraySlice<UInt8> { octets[position...] }

    /// Whether everything has been read.
    public var isAtEnd: Bool { position == octets.endIndex }

    /// When the octets were received.
    public let time: ReceptionTime

    init(_ value: CharacteristicValue) {
        octets = value.bytes
        position = value.bytes.startIndex
        time = value.time
    }

    /// One octet.
    public mutating func uint8() throws(MalformedValue) -> UInt8 { UInt8(truncatingIfNeeded: try integer(1)) }
    /// One octet, signed.
    public mutating func int8() throws(MalformedValue) -> Int8 { Int8(truncatingIfNeeded: try integer(1)) }
    /// Two octets.
    public mutating func uint16() throws(MalformedValue) -> UInt16 { UInt16(truncatingIfNeeded: try integer(2)) }
    /// Two octets, signed.
    public mutating func int16() throws(MalformedValue) -> Int16 { Int16(truncatingIfNeeded: try integer(2)) }
    /// Four octets.
    public mutating func uint32() throws(MalformedValue) -> UInt32 { UInt32(truncatingIfNeeded: try integer(4)) }

    /// So many octets.
    public mutating func bytes(_ count: Int) throws(MalformedValue) -> ArraySlice<UInt8> {
        guard count >= 0, octets.endIndex - position >= count else {
            throw MalformedValue(
                "\(count) octets were expected at offset \(position - octets.startIndex) of \(octets.count)"
            )
        }
        defer { position += count }
        return octets[position..<position + count]
    }

    private mutating func integer(_ count: Int) throws(MalformedValue) -> UInt64 {
        try bytes(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
