public import BLEProtocol

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
    // Inlined down to where waiting may begin: what need not wait then costs no frames of asynchronous functions.

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
    @inlinable
    public func write(
        _ value: some Collection<UInt8>,
        to uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        _ kind: WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        let (value, selector) = (Array(value), CharacteristicSelector.uuid(uuid, service: service))
        if kind == .withoutResponse, try writeAtOnce(value, selector) { return }
        try await writeInTurn(value, selector, kind, timeout)
    }

    /// Writes a characteristic that was discovered. See ``write(_:to:in:_:timeout:)``.
    @inlinable
    public func write(
        _ value: some Collection<UInt8>,
        to characteristic: Characteristic,
        _ kind: WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        let (value, selector) = (Array(value), CharacteristicSelector.exactly(characteristic))
        if kind == .withoutResponse, try writeAtOnce(value, selector) { return }
        try await writeInTurn(value, selector, kind, timeout)
    }

    /// Writes an attribute by its handle, without discovery and without a look at its properties.
    @inlinable
    public func write(
        _ value: some Collection<UInt8>,
        toHandle handle: UInt16,
        _ kind: WriteKind = .withResponse,
        timeout: Duration? = nil
    ) async throws {
        let value = Array(value)
        if kind == .withoutResponse, try writeAtOnce(value, handle) { return }
        try await writeInTurn(value, handle, kind, timeout)
    }

    /// Writes when the link is free for it, what is written has been found and what left before it is on its way.
    @usableFromInline
    func writeInTurn(
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
            try await perform(selector, "write", anyOf: .writeWithoutResponse, timeout) {
                WriteCommand(handle: $0.valueHandle, value: value)
            }
        case .reliable:
            try await perform(selector, "write", anyOf: .write, timeout) {
                LongWrite(handle: $0.valueHandle, value: value, isVerified: true)
            }
        }
    }

    /// The same where the handle is known.
    @usableFromInline
    func writeInTurn(
        _ value: [UInt8],
        _ handle: UInt16,
        _ kind: WriteKind,
        _ timeout: Duration?
    ) async throws {
        let object = OperationObject(.to, .handle(handle), peripheral.address)
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

    /// Writes without an answer where nobody else has the link, nothing has to leave before and the value fits: the
    /// way of nearly all, on which nothing waits and nothing is kept.
    @usableFromInline
    func writeAtOnce(_ value: [UInt8], _ handle: UInt16) throws -> Bool {
        try Task.checkCancellation()
        let pdu = GATTClient.command(writing: value, to: handle)
        guard lane.attempt(pass, { bearer.sendAtOnce(pdu) }) else { return false }
        attributes.operationBegan()
        return true
    }

    @usableFromInline
    func writeAtOnce(_ value: [UInt8], _ selector: CharacteristicSelector) throws -> Bool {
        guard let known = attributes.knownDatabase else { return false }
        let found = try LinkAttributes.find(selector, in: known, operation: "write", peripheral.address).get()
        return try found.properties.contains(.writeWithoutResponse) && writeAtOnce(value, found.valueHandle)
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
}
