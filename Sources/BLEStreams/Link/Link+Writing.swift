import BLEProtocol

extension Link {
    /// How a value is written.
    public enum WriteKind: Hashable, Sendable {
        /// The peer responds; a value that doesn't fit in one PDU is written in parts.
        case withResponse
        /// The peer doesn't respond: the call returns when the radio has accepted the PDU. At most MTU − 3 octets, and
        /// at most 512.
        case withoutResponse
        /// The peer echoes each part, which is compared before the whole value takes effect.
        case reliable
    }
}

extension Link {
    /// The maximum number of octets in one write at present: with response 512, the maximum length of any value, in
    /// parts if the MTU is small; without response the smaller of ``mtu`` − 3 and 512.
    ///
    /// A longer value is refused with ``BLEError/Code/overflow`` before anything is sent. Without response, send longer
    /// data in pieces of this length:
    ///
    /// ```swift
    /// let data = [UInt8](repeating: 0, count: 2000)
    /// let length = link.maximumWriteLength(for: .withoutResponse)
    /// for start in stride(from: 0, to: data.count, by: length) {
    ///     try await link.write(
    ///         data[start..<min(start + length, data.count)],
    ///         to: BluetoothUUID(0xA001),
    ///         .withoutResponse
    ///     )
    /// }
    /// ```
    /// Source: Core Specification, Vol 3, Part F, 3.2.9.
    public func maximumWriteLength(for kind: Link.WriteKind) -> Int {
        switch kind {
        case .withResponse, .reliable: ATTLimits.maximumValueLength
        case .withoutResponse: min(mtu - 3, ATTLimits.maximumValueLength)
        }
    }

    // Inlined down to the first possible wait, so that a write that need not wait costs no asynchronous frames.

    /// Writes a value. A characteristic named by its handle is written without discovery, and its properties aren't
    /// checked.
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

    /// Writes once the link is free, the characteristic has been found and earlier PDUs have been sent.
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

    /// The same for a known handle.
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

    /// Writes without response if the link is free, nothing is queued before and the value fits: the usual path,
    /// without waiting or allocation.
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

    /// Refuses a value that is too long for this kind of write.
    func checkLength(of value: [UInt8], _ limit: Int, _ object: OperationObject) throws {
        guard value.count > limit else { return }
        throw BLEError.tooLong(value.count, limit: limit, operation: "write", object: "\(object)")
    }
}
