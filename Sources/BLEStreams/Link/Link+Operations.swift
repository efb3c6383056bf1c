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

    /// All services of the peripheral with their characteristics and descriptors; found out once a link.
    ///
    /// Of a peripheral that was met before they are remembered, where it has a Database Hash: one request then tells that
    /// they are still the same. ``Peripheral/forgetServices()`` has them discovered instead. When the peripheral says that
    /// its services have changed they are discovered again by themselves; ``serviceChanges`` tells.
    ///
    /// - Parameter timeout: how long to wait; without it each request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/disconnected``, ``BLEError/Code/timedOut``, `CancellationError`.
    public func discover(timeout: Duration? = nil) async throws -> GATTDatabase {
        if let known = attributes.knownDatabase { return known }
        let object = OperationObject(.of, nil, peripheral.address)
        return try await waitFor(operation: "discovery", object: object, timeout: timeout) { finish in
            let attributes = attributes
            return lane.enter(pass) { place in
                attributes.database { outcome in
                    place.leave()
                    finish(outcome.mapError { BLEError($0, operation: "discovery", object: "\(object)") })
                }
            }.leave
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
        try await write(Array(value), .exactly(characteristic), kind, timeout)
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
        let object = OperationObject(.to, selector, peripheral.address)
        try checkLength(of: value, kind == .withoutResponse ? mtu - 3 : 512, object)
        switch kind {
        case .withResponse:
            try await perform(selector, "write", anyOf: .write, timeout) {
                WriteValue(handle: $0.valueHandle, value: value)
            }
        case .withoutResponse:
            try Task.checkCancellation()
            if let known = attributes.knownDatabase {
                let found = try LinkAttributes.find(selector, in: known, operation: "write", peripheral.address).get()
                if found.properties.contains(.writeWithoutResponse), sendAtOnce(value, found.valueHandle) { return }
            }
            try await perform(selector, "write", anyOf: .writeWithoutResponse, timeout) {
                WriteCommand(handle: $0.valueHandle, value: value)
            }
        case .reliable:
            try await perform(selector, "write", anyOf: .write, timeout) {
                LongWrite(handle: $0.valueHandle, value: value, isVerified: true)
            }
        }
    }

    private func write(
        _ value: [UInt8],
        toHandle handle: UInt16,
        _ kind: WriteKind,
        _ object: OperationObject,
        _ timeout: Duration?
    ) async throws {
        try checkLength(of: value, kind == .withoutResponse ? mtu - 3 : 512, object)
        switch kind {
        case .withResponse:
            try await perform(
                WriteValue(handle: handle, value: value),
                operation: "write",
                object: object,
                timeout: timeout
            )
        case .withoutResponse:
            try Task.checkCancellation()
            if lane.attempt(pass, { sendAtOnce(value, handle) }) { return }
            try await perform(
                WriteCommand(handle: handle, value: value),
                operation: "write",
                object: object,
                timeout: timeout
            )
        case .reliable:
            try await perform(
                LongWrite(handle: handle, value: value, isVerified: true),
                operation: "write",
                object: object,
                timeout: timeout
            )
        }
    }

    /// Writes without an answer where nothing else has to leave before.
    private func sendAtOnce(_ value: [UInt8], _ handle: UInt16) -> Bool {
        guard bearer.sendAtOnce(ATTWriteCommand(handle: handle, value: value[...])) else { return false }
        attributes.operationBegan()
        return true
    }

    /// Refuses a value that is too long for the way in which it is to be written.
    func checkLength(of value: [UInt8], _ limit: Int, _ object: OperationObject) throws {
        guard value.count > limit else { return }
        throw BLEError(
            .overflow,
            operation: "write",
            object: "\(object)",
            cause: "the value has \(value.count) octets, and \(limit) is the most that can be written this way",
            remedy: limit < 512 ? "Write it with response, or in parts." : "Write it in parts."
        )
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
            let attributes = attributes
            return lane.enter(pass) { place in
                attributes.characteristic(selector, operation: operation) { found in
                    place.leave()
                    finish(found)
                }
            }.leave
        }
    }

    /// Runs one procedure on a characteristic, which is found first and must have one of these properties.
    func perform<Procedure: GATTProcedure>(
        _ selector: CharacteristicSelector,
        _ operation: String,
        anyOf properties: CharacteristicProperties,
        _ timeout: Duration?,
        _ make: @escaping @Sendable (Characteristic) -> Procedure
    ) async throws -> Procedure.Success {
        let object = OperationObject(.of, selector, peripheral.address)
        return try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            AttributeOperation.start(
                on: self,
                .characteristic(selector, anyOf: properties, make),
                operation: operation,
                object: object,
                finish: finish
            )
        }
    }

    /// Runs one procedure that names what it needs by handles, or needs none.
    func perform<Procedure: GATTProcedure>(
        _ procedure: Procedure,
        operation: String,
        object: OperationObject,
        timeout: Duration?
    ) async throws -> Procedure.Success {
        try await waitFor(operation: operation, object: object, timeout: timeout) { finish in
            AttributeOperation.start(
                on: self,
                .handles(procedure),
                operation: operation,
                object: object,
                finish: finish
            )
        }
    }

    private func waitFor<Success: Sendable>(
        operation: String,
        object: OperationObject,
        timeout: Duration?,
        start: (@escaping @Sendable (Result<Success, BLEError>) -> Void) -> @Sendable () -> Void
    ) async throws -> Success {
        if let end = bearer.end { throw BLEError.linkEnded(end, operation: operation, object: "\(object)") }
        if lane.wouldWaitForItself(with: pass) { throw BLEError.waitingForItself(operation, "\(object)") }
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
}
