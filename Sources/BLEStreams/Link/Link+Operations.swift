public import BLEProtocol
import BLERadio

/// How a value is written.
public enum WriteKind: Hashable, Sendable {
    /// The peer answers; a value that doesn't fit into one PDU is written in parts.
    case withResponse
    /// The peer doesn't answer: the call returns when the radio has taken the PDU. At most MTU − 3 octets.
    case withoutResponse
    /// In parts that the peer repeats, each compared before the value is put into force.
    case reliable
}

extension Link {
    // MARK: - Discovery

    /// All services of the peripheral with their characteristics and descriptors; discovered once a link.
    ///
    /// - Parameter timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`.
    public func discover(timeout: Duration? = nil) async throws -> GATTDatabase {
        if let known = attributes.knownDatabase { return known }
        let object = OperationObject(.of, nil, peripheral.address)
        return try await waitFor(operation: "discovery", object: object, timeout: timeout) { finish in
            self.attributes.database { outcome in
                finish(outcome.mapError { BLEError($0, operation: "discovery", object: "\(object)") })
            }
            return {}
        }
    }

    // MARK: - Reading

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
    public func read(_ characteristic: Characteristic, timeout: Duration? = nil) async throws -> CharacteristicValue {
        try await read(handle: characteristic.valueHandle, timeout: timeout)
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
        let found = try await characteristic(selector, operation: "read", timeout: timeout)
        guard found.properties.contains(.read) else { throw unsupported("read", selector, found) }
        let object = OperationObject(.of, selector, peripheral.address)
        let octets: [UInt8] = try await perform(
            ReadValue(handle: found.valueHandle),
            operation: "read",
            object: object,
            timeout: timeout
        )
        return CharacteristicValue(bytes: octets[...], time: timeline.wallTime)
    }

    // MARK: - Writing

    /// Writes a characteristic.
    ///
    /// - Parameters:
    ///   - value: 0 to 512 octets; without response at most ``mtu`` − 3.
    ///   - uuid: its type; where the peripheral has several of it, the first one.
    ///   - service: the service that it is looked for in; `nil`: all.
    ///   - kind: with response unless said otherwise.
    ///   - timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/notFound``, ``BLEError/Code/notSupported`` when the characteristic can't be written
    ///   that way, ``BLEError/Code/overflow`` when the value is too long, ``BLEError/Code/attributeError``,
    ///   ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`.
    public func write(
        _ value: some Collection<UInt8>,
        to uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        _ kind: WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        try await write(Array(value), .uuid(uuid, service: service), kind, timeout)
    }

    /// Writes a characteristic that was discovered. See ``write(_:to:in:_:timeout:)``.
    public func write(
        _ value: some Collection<UInt8>,
        to characteristic: Characteristic,
        _ kind: WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        try await write(Array(value), .handle(characteristic.valueHandle), kind, timeout)
    }

    /// Writes an attribute by its handle, without discovery and without a look at its properties.
    public func write(
        _ value: some Collection<UInt8>,
        toHandle handle: UInt16,
        _ kind: WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        try await write(
            Array(value),
            toHandle: handle,
            kind,
            OperationObject(.to, .handle(handle), peripheral.address),
            timeout
        )
    }

    private func write(
        _ value: [UInt8],
        _ selector: CharacteristicSelector,
        _ kind: WriteKind,
        _ timeout: Duration?
    ) async throws {
        let found = try await characteristic(selector, operation: "write", timeout: timeout)
        let needed: CharacteristicProperties = kind == .withoutResponse ? .writeWithoutResponse : .write
        guard found.properties.contains(needed) else {
            throw unsupported(kind == .withoutResponse ? "write without response" : "write", selector, found)
        }
        let object = OperationObject(.to, selector, peripheral.address)
        try await write(value, toHandle: found.valueHandle, kind, object, timeout)
    }

    private func write(
        _ value: [UInt8],
        toHandle handle: UInt16,
        _ kind: WriteKind,
        _ object: OperationObject,
        _ timeout: Duration?
    ) async throws {
        let limit = kind == .withoutResponse ? mtu - 3 : 512
        guard value.count <= limit else {
            throw BLEError(
                .overflow,
                operation: "write",
                object: "\(object)",
                cause: "the value has \(value.count) octets, and \(limit) is the most that can be written this way",
                remedy: kind == .withoutResponse ? "Write it with response, or in parts." : "Write it in parts."
            )
        }
        switch kind {
        case .withResponse:
            let _: Void = try await perform(
                WriteValue(handle: handle, value: value),
                operation: "write",
                object: object,
                timeout: timeout
            )
        case .withoutResponse:
            try Task.checkCancellation()
            if bearer.sendAtOnce(ATTWriteCommand(handle: handle, value: value[...])) { return }
            let _: Void = try await perform(
                WriteCommand(handle: handle, value: value),
                operation: "write",
                object: object,
                timeout: timeout
            )
        case .reliable:
            let _: Void = try await perform(
                LongWrite(handle: handle, value: value, isVerified: true),
                operation: "write",
                object: object,
                timeout: timeout
            )
        }
    }

    // MARK: - The lane

    /// Finds a characteristic; without waiting once the services are known.
    func characteristic(
        _ selector: CharacteristicSelector,
        operation: String,
        timeout: Duration?
    ) async throws -> Characteristic {
        if let known = attributes.knownDatabase {
            return try LinkAttributes.find(selector, in: known, operation: operation, peripheral.address).get()
        }
        let object = OperationObject(nil, selector, peripheral.address)
        return try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            self.attributes.characteristic(selector, operation: operation) { finish($0) }
            return {}
        }
    }

    /// Runs one procedure of the client half.
    func perform<Procedure: GATTProcedure>(
        _ procedure: Procedure,
        operation: String,
        object: OperationObject,
        timeout: Duration?
    ) async throws -> Procedure.Success {
        try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            let id = self.bearer.begin(procedure) { outcome in
                switch outcome {
                case .success(let value as Procedure.Success): finish(.success(value))
                case .success: finish(.failure(BLEError(.cancelled, operation: operation, object: "\(object)")))
                case .failure(let failure):
                    finish(.failure(BLEError(failure, operation: operation, object: "\(object)")))
                }
            }
            return { self.bearer.cancel(id) }
        }
    }

    private func waitFor<Success: Sendable>(
        operation: String,
        object: OperationObject,
        timeout: Duration?,
        start: (@escaping @Sendable (Result<Success, BLEError>) -> Void) -> @Sendable () -> Void
    ) async throws -> Success {
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: operation, object: "\(object)") }
        let limit = timeout.map { timeout -> (Duration, @Sendable () -> any Error) in
            (
                timeout,
                { BLEError.timedOut(operation, object: "\(object)", after: timeout, waitingFor: "no answer came") }
            )
        }
        return try await reply(on: timeline, limit: limit) { finish in
            start { finish($0.mapError { $0 as any Error }) }
        }
    }

    private func unsupported(
        _ operation: String,
        _ selector: CharacteristicSelector,
        _ found: Characteristic
    ) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: "of \(selector) of \(peripheral)",
            cause: "the characteristic has no such property; it has: \(found.properties)",
            remedy: "Use one of the properties that it has, or another characteristic."
        )
    }
}
