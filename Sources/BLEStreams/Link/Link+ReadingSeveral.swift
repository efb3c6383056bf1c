public import BLEProtocol
import BLERadio

extension Link {
    /// A value, and the handle of the attribute that has it.
    public struct AttributeValue: Hashable, Sendable {
        /// The attribute's handle, which tells it from others of the same type.
        public let handle: UInt16

        /// Its value.
        public let value: CharacteristicValue

        /// Makes a pair of both.
        public init(handle: UInt16, value: CharacteristicValue) {
            self.handle = handle
            self.value = value
        }
    }
}

extension Link {
    /// Reads all attributes of a type, without discovery: the values of characteristics that occur more than once, or
    /// all descriptors of one kind. Long values are read to their end.
    ///
    /// Where ``Peripheral/secure(_:to:)`` demands anything the services are discovered first, to know to which characteristic a
    /// descriptor belongs.
    ///
    /// Source: Core Specification, Vol 3, Part G, 4.8.2.
    ///
    /// - Parameters:
    ///   - uuid: the type: that of a characteristic stands for its value.
    ///   - handles: where to look; everywhere unless said otherwise.
    ///   - timeout: how long to wait for all of it; without it each request has the 30 s of the specification.
    /// - Returns: the values, ascending by handle; none where the peripheral has no such attribute. Behind one that can't be
    ///   read the peripheral tells no more: what came before it is returned.
    /// - Throws: ``BLEError/Code/attributeError`` where the first one can't be read, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func readAll(
        _ uuid: BluetoothUUID,
        in handles: ClosedRange<UInt16> = 0x0001...0xFFFF,
        timeout: Duration? = nil
    ) async throws -> [Link.AttributeValue] {
        try await readAll(uuid, in: handles, limit: .max, timeout)
    }

    /// As ``readAll(_:in:timeout:)``, of so many at most.
    func readAll(
        _ uuid: BluetoothUUID,
        in handles: ClosedRange<UInt16> = 0x0001...0xFFFF,
        limit: Int,
        _ timeout: Duration?
    ) async throws -> [Link.AttributeValue] {
        let object = OperationObject(ofAll: uuid, peripheral.address)
        let deadline = timeout.map { timeline.now + $0 }
        let found: [ReadByUUID.Value]
        do {
            found = try await perform(
                ReadByUUID(uuid, in: handles, limit: limit),
                operation: "read",
                object: object,
                timeout: timeout
            )
        } catch let error as BLEError where error.attError == .attributeNotFound {
            return []
        }
        // A value that fills its place in the answer may go on behind it. On a resumed link the place may be larger.
        let longest = min(253, mtu - 4)
        var values: [Link.AttributeValue] = []
        for entry in found {
            var octets = entry.value
            if octets.count == longest || octets.count == 253 {
                do {
                    let limit = deadline.map { $0 - timeline.now }
                    octets += try await rest(of: entry.handle, from: octets.count, object, limit)
                } catch let error as BLEError where error.code == .attributeError && !values.isEmpty {
                    return values
                }
            }
            values.append(
                Link.AttributeValue(
                    handle: entry.handle,
                    value: CharacteristicValue(bytes: octets[...], time: timeline.wallTime)
                )
            )
        }
        return values
    }

    private func rest(
        of handle: UInt16,
        from offset: Int,
        _ object: OperationObject,
        _ timeout: Duration?
    ) async throws -> [UInt8] {
        do {
            return try await perform(
                ReadValue(handle: handle, offset: UInt16(offset)),
                operation: "read",
                object: object,
                timeout: timeout
            )
        } catch let error as BLEError
            where error.attError == .invalidOffset || error.attError == .attributeNotLong
            || error.attError == .requestNotSupported
        {
            // It just filled the place, or the peer has no longer ones.
            return []
        }
    }

    /// Reads several attributes by their handles, with as few requests as the peripheral allows.
    ///
    /// They are asked for together (Read Multiple Variable Length) and, where the peripheral doesn't know that request,
    /// one by one. A value that doesn't fit the common answer is read whole afterwards.
    /// Source: Core Specification, Vol 3, Part G, 4.8.5.
    ///
    /// - Parameters:
    ///   - handles: any number of them.
    ///   - timeout: how long to wait for all of it; without it each request has the 30 s of the specification.
    /// - Returns: the values, in the order of the handles.
    /// - Throws: ``BLEError/Code/attributeError`` where one of them can't be read, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func read(handles: [UInt16], timeout: Duration? = nil) async throws -> [CharacteristicValue] {
        let deadline = timeout.map { timeline.now + $0 }
        var values: [CharacteristicValue] = []
        var rest = handles[...]
        while rest.count >= 2 {
            // As many handles as fit the smallest MTU.
            let group = Array(rest.prefix(11))
            let together: [ReadMultipleVariable.Value]
            do {
                together = try await perform(
                    ReadMultipleVariable(handles: group),
                    operation: "read",
                    object: OperationObject(ofHandles: group.count, peripheral.address),
                    timeout: deadline.map { $0 - timeline.now }
                )
            } catch let error as BLEError where error.attError == .requestNotSupported {
                break
            }
            let whole = together.prefix(group.count).prefix { !$0.isCut }
            values += whole.map { CharacteristicValue(bytes: $0.value[...], time: timeline.wallTime) }
            rest = rest.dropFirst(whole.count)
            // What was cut, or left out, begins the next round by itself.
            if whole.count < group.count, let next = rest.popFirst() {
                values.append(try await read(.handle(next), timeout: deadline.map { $0 - timeline.now }))
            }
        }
        for handle in rest {
            values.append(try await read(.handle(handle), timeout: deadline.map { $0 - timeline.now }))
        }
        return values
    }

    /// Reads several attributes whose values have known lengths, in one request: the octets of all, one value behind
    /// the other.
    ///
    /// An answer that would be longer than ``mtu`` − 1 octets is cut, and nothing tells so: prefer
    /// ``read(handles:timeout:)`` where the peripheral need not be asked in this way.
    /// Source: Core Specification, Vol 3, Part G, 4.8.4.
    ///
    /// - Parameters:
    ///   - handles: 2 to 11 of them.
    ///   - timeout: how long it may take; without it the request has the 30 s of the specification.
    /// - Throws: ``BLEError/Code/invalidArgument`` for another number of handles; else as
    ///   ``read(handles:timeout:)``.
    public func readConcatenated(handles: [UInt16], timeout: Duration? = nil) async throws -> CharacteristicValue {
        let object = OperationObject(ofHandles: handles.count, peripheral.address)
        guard (2...11).contains(handles.count) else {
            throw BLEError(
                .invalidArgument,
                operation: "read",
                object: "\(object)",
                cause: "a request for several values has 2 to 11 handles",
                remedy: "Use Link.read(handles:), which takes any number."
            )
        }
        let octets: [UInt8] = try await perform(
            ReadMultiple(handles: handles),
            operation: "read",
            object: object,
            timeout: timeout
        )
        return CharacteristicValue(bytes: octets[...], time: timeline.wallTime)
    }
}
