public import BLEProtocol

extension LocalCharacteristic {
    /// Describes a characteristic whose value has a type, and is kept by the server.
    ///
    /// ```swift
    /// LocalCharacteristic(.batteryLevel, [.read, .notify], value: 100)
    /// ```
    ///
    /// What is wrong with the value is thrown by ``LocalPeripheral/run(on:store:warning:_:)``, as
    /// ``BLEError/Code/invalidArgument``.
    ///
    /// - Parameters:
    ///   - key: what the characteristic is, and how its value lies on air.
    ///   - properties: what clients are told that it can do.
    ///   - value: its value to begin with; `nil`: none.
    ///   - access: what a client must bring for all that the properties promise.
    ///   - id: the name by which the program refers to it; where left out, the UUID's text.
    ///   - write: judges what a central writes, as for octets; `nil`: whatever can be read is taken. What can't be
    ///     is refused with Value Not Allowed, either way.
    public init<Value>(
        _ key: TypedCharacteristic<Value>,
        _ properties: CharacteristicProperties,
        value: Value? = nil,
        access: AccessRequirement = .open,
        id: String? = nil,
        write: (@Sendable (Value, ConnectedCentral) async throws -> Void)? = nil
    ) {
        self.init(key.uuid, properties, access: access, id: id, write: key.judging(write))
        if let value { keep(value, key) }
    }

    /// Describes a characteristic whose value has a type, and is computed when a central reads it. See
    /// ``init(_:_:access:maximumLength:id:read:write:descriptors:)``.
    ///
    /// - Parameters:
    ///   - key: what the characteristic is, and how its value lies on air.
    ///   - properties: what clients are told that it can do.
    ///   - access: what a client must bring for all that the properties promise.
    ///   - id: the name by which the program refers to it; where left out, the UUID's text.
    ///   - read: computes the value for the central that asks, or throws the `ATTError` that it gets.
    ///   - write: takes what a central writes, or throws the `ATTError` that the central gets; octets that can't be
    ///     read are refused with Value Not Allowed. Without it, ``PeripheralServer/writes(to:)`` asks the program.
    public init<Value>(
        _ key: TypedCharacteristic<Value>,
        _ properties: CharacteristicProperties,
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
        if key.encode == nil { fault = "has a value with a type that says how it is read, and not how it is written" }
    }

    private mutating func keep<Value>(_ value: Value, _ key: TypedCharacteristic<Value>) {
        do {
            self.value = .stored(try key.octets(of: value, during: "serve"))
        } catch {
            fault = "has a value without octets: \((error as? BLEError)?.cause ?? "\(error)")"
        }
    }
}

extension TypedCharacteristic {
    /// The octets that a central writes, as a value that is judged.
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
