import BLEProtocol

extension Link {
    /// How a value is written.
    public enum WriteKind: Hashable, Sendable {
        /// The peer answers; a value that doesn't fit into one PDU is written in parts.
        case withResponse
        /// The peer doesn't answer: the call returns when the radio has taken the PDU. At most MTU − 3 octets, and at most
        /// 512.
        case withoutResponse
        /// In parts that the peer repeats, each compared before the value is put into force.
        case reliable
    }
}

extension Link {
    /// The most octets that one write can carry, now: 512 with response, in parts where the MTU is small, which is as
    /// long as any value can be; without response the lesser of ``mtu`` − 3 and 512.
    ///
    /// A longer value is refused with ``BLEError/Code/overflow`` before anything is sent. Without a response, send what is
    /// longer in pieces of this length:
    ///
    /// ```swift
    /// let data = [UInt8](repeating: 0, count: 2000)
    /// let length = link.maximumWriteLength(for: .withoutResponse)
    /// for start in stride(from: 0, to: data.count, by: length) {
    ///     try await link.write(data[start..<min(start + length, data.count)], to: BluetoothUUID(0xA001), .withoutResponse)
    /// }
    /// ```
    /// Source: Core Specification, Vol 3, Part F, 3.2.9.
    public func maximumWriteLength(for kind: Link.WriteKind) -> Int {
        switch kind {
        case .withResponse, .reliable: ATTLimits.maximumValueLength
        case .withoutResponse: min(mtu - 3, ATTLimits.maximumValueLength)
        }
    }

    // Inlined down to where waiting may begin: what need not wait then costs no frames of asynchronous functions.

    /// Writes a value; what is named by its handle without discovery, and without a look at its properties.
    @inlinable
    func write(
        _ value: [UInt8],
        _ selector: CharacteristicSelector,
        _ kind: Link.WriteKind,
        _ timeout: Duration?
    ) async throws {
        if case .handle(let handle) = selector {
            if kind == .withoutResponse, try writeAtOnce(value, handle) { return }
            return try await writeInTurn(value, handle, kind, timeout)
        }
        if kind == .withoutResponse, try writeAtOnce(value, selector) { return }
        try await writeInTurn(value, selector, kind, timeout)
    }

    /// Writes when the link is free for it, what is written has been found and what left before it is on its way.
    @usableFromInline
    func writeInTurn(
        _ value: [UInt8],
        _ selector: CharacteristicSelector,
        _ kind: Link.WriteKind,
        _ timeout: Duration?
    ) async throws {
        let object = OperationObject(.to, selector, peripheral.address)
        try checkLength(of: value, maximumWriteLength(for: kind), object)
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
        _ kind: Link.WriteKind,
        _ timeout: Duration?
    ) async throws {
        let object = OperationObject(.to, .handle(handle), peripheral.address)
        try checkLength(of: value, maximumWriteLength(for: kind), object)
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
        try bearer.mayUse(handle) && sendAtOnce(value, handle)
    }

    private func sendAtOnce(_ value: [UInt8], _ handle: UInt16) throws -> Bool {
        try Task.checkCancellation()
        let pdu = GATTClient.command(writing: value, to: handle)
        return bearer.sendAtOnce(pdu, pass: pass)
    }

    @usableFromInline
    func writeAtOnce(_ value: [UInt8], _ selector: CharacteristicSelector) throws -> Bool {
        guard let found = try known(selector, operation: "write") else { return false }
        return try found.properties.contains(.writeWithoutResponse) && sendAtOnce(value, found.valueHandle)
    }

    /// Refuses a value that is too long for the way in which it is to be written.
    func checkLength(of value: [UInt8], _ limit: Int, _ object: OperationObject) throws {
        guard value.count > limit else { return }
        throw BLEError.tooLong(value.count, limit: limit, operation: "write", object: "\(object)")
    }
}
