public import BLEProtocol
import BLERadio

extension LocalCharacteristic {
    /// Declares a characteristic with a typed value that the server stores.
    ///
    /// ```swift
    /// LocalCharacteristic(.batteryLevel, [.read, .notify], value: 100)
    /// ```
    ///
    /// If the value is invalid, ``LocalPeripheral/run(on:store:warning:_:)`` throws ``BLEError/Code/invalidArgument``.
    ///
    /// - Parameters:
    ///   - key: the characteristic's type, and the encoding of its value.
    ///   - properties: the operations that clients may use.
    ///   - value: its initial value; `nil`: none.
    ///   - access: the protection that the properties require of a client.
    ///   - id: the name by which the program refers to it; by default the UUID's text.
    ///   - write: accepts or refuses what a central writes, as for octets; `nil`: every value that can be decoded is
    ///     accepted. Octets that can't be decoded are refused with Value Not Allowed in either case.
    public init<Value>(
        _ key: TypedCharacteristic<Value>,
        _ properties: Characteristic.Properties,
        value: Value? = nil,
        access: AccessRequirement = .open,
        id: String? = nil,
        write: (@Sendable (Value, ConnectedCentral) async throws -> Void)? = nil
    ) {
        self.init(key.uuid, properties, access: access, id: id, write: key.judging(write))
        if let value { keep(value, key) }
    }

    /// Declares a characteristic with a typed value that is computed when a central reads it. See
    /// ``init(_:_:access:maximumLength:id:read:write:descriptors:)``.
    ///
    /// - Parameters:
    ///   - key: the characteristic's type, and the encoding of its value.
    ///   - properties: the operations that clients may use.
    ///   - access: the protection that the properties require of a client.
    ///   - id: the name by which the program refers to it; by default the UUID's text.
    ///   - read: computes the value for the central that reads it, or throws the `ATTError` to answer.
    ///   - write: takes the value that a central writes, or throws the `ATTError` to answer; octets that can't be
    ///     decoded are refused with Value Not Allowed. Without it, the program answers through
    ///     ``PeripheralServer/writes(to:)``.
    public init<Value>(
        _ key: TypedCharacteristic<Value>,
        _ properties: Characteristic.Properties,
        access: AccessRequirement = .open,
        id: String? = nil,
        read: @escaping @Sendable (ConnectedCentral) async throws -> Value,
        write: (@Sendable (Value, ConnectedCentral) async throws -> Void)? = nil
    ) {
        self.init(
            key.uuid,
            properties,
            access: access,
            id: id,
            read: { central in try key.octets(of: try await read(central), during: "read") },
            write: write.map { key.judging($0) }
        )
        if key.encode == nil { fault = "has a value of a type that can be decoded but not encoded" }
    }

    private mutating func keep<Value>(_ value: Value, _ key: TypedCharacteristic<Value>) {
        do {
            self.value = .stored(try key.octets(of: value, during: "serve"))
        } catch {
            fault = "has a value that can't be encoded: \((error as? BLEError)?.cause ?? "\(error)")"
        }
    }
}

extension TypedCharacteristic {
    /// Decodes the octets that a central writes, and passes the value to the closure.
    fileprivate func judging(
        _ write: (@Sendable (Value, ConnectedCentral) async throws -> Void)?
    ) -> @Sendable ([UInt8], ConnectedCentral) async throws -> Void {
        { octets, central in
            var reader = ValueReader(CharacteristicValue(bytes: octets[...], time: central.bearer.timeline.wallTime))
            let value: Value
            do throws(MalformedValue) {
                value = try decode(&reader)
            } catch {
                throw ATTError.valueNotAllowed
            }
            try await write?(value, central)
        }
    }
}
