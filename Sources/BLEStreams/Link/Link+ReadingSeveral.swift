public import BLEProtocol
import BLERadio

extension Link {
    /// A value with the handle of its attribute.
    public struct AttributeValue: Hashable, Sendable {
        /// The attribute's handle, which distinguishes it from others of the same type.
        public let handle: UInt16

        /// Its value.
        public let value: CharacteristicValue

        /// Creates a value from its parts.
        package init(handle: UInt16, value: CharacteristicValue) {
            self.handle = handle
            self.value = value
        }
    }
}

extension Link {
    /// Reads all attributes of a type, without discovery: the values of characteristics that occur more than once, or
    /// all descriptors of one kind. Long values are read to their end.
    ///
    /// If ``Peripheral/secure(_:to:)`` has set any requirement, the services are discovered first, to find out to which
    /// characteristic a descriptor belongs.
    ///
    /// Source: Core Specification, Vol 3, Part G, 4.8.2.
    ///
    /// - Parameters:
    ///   - uuid: the type; the type of a characteristic denotes its value.
    ///   - handles: the range to search; by default all handles.
    ///   - timeout: how long to wait for all of them; without it, the 30 s of the specification for each request.
    /// - Returns: the values in ascending order of handles; empty if the peripheral has no such attribute. The
    ///   peripheral stops at one that can't be read: the values before it are returned.
    /// - Throws: ``BLEError/Code/attributeError`` if the first one can't be read, ``BLEError/Code/disconnected``,
    ///   ``BLEError/Code/timedOut``, `CancellationError`.
    public func readAll(
        _ uuid: BluetoothUUID,
        in handles: ClosedRange<UInt16> = 0x0001...0xFFFF,
        timeout: Duration? = nil
    ) async throws -> [Link.AttributeValue] {
        try await readAll(uuid, in: handles, limit: .max, timeout)
    }

    /// As ``readAll(_:in:timeout:)``, with a maximum number.
    func readAll(
        _ uuid: BluetoothUUID,
        in handles: ClosedRange<UInt16> = 0x0001...0xFFFF,
        limit: Int,
        _ timeout: Duration?
    ) async throws -> [Link.AttributeValue] {
        let object = OperationObject(ofAll: uuid, peripheral.address)
        let deadline = timeout.map { timeline.now + $0 }
        let leastMTU = bearer.leastMTU
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
        // The peer may have exchanged the MTU meanwhile, behind an answer that the smaller one has cut.
        return try await wholeValues(of: found, cutBy: min(leastMTU, bearer.leastMTU), object, deadline)
    }

    /// The values that were found, each read to its end.
    private func wholeValues(
        of found: [ReadByUUID.Value],
        cutBy leastMTU: Int,
        _ object: OperationObject,
        _ deadline: Duration?
    ) async throws -> [Link.AttributeValue] {
        // A value that fills its place in the answer may be longer.
        let place = min(253, leastMTU - 4)
        var values: [Link.AttributeValue] = []
        for entry in found {
            var octets = entry.value
            if octets.count >= place {
                do {
                    octets = try await whole(entry, object, deadline)
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

    /// A value whose beginning was found, read to its end.
    private func whole(
        _ found: ReadByUUID.Value,
        _ object: OperationObject,
        _ deadline: Duration?
    ) async throws -> [UInt8] {
        do {
            let offset = UInt16(found.value.count)
            return found.value + (try await read(ReadValue(handle: found.handle, offset: offset), object, deadline))
        } catch let error as BLEError where error.attError == .invalidOffset {
            // It exactly filled the place.
            return found.value
        } catch let error as BLEError
            where error.attError == .attributeNotLong || error.attError == .requestNotSupported
        {
            // It fits in the answer to a Read Request, which has more room for it than there was here.
            return try await read(ReadValue(handle: found.handle), object, deadline)
        }
    }

    private func read(
        _ procedure: ReadValue,
        _ object: OperationObject,
        _ deadline: Duration?
    ) async throws -> [UInt8] {
        try await perform(
            procedure,
            operation: "read",
            object: object,
            timeout: deadline.map { $0 - timeline.now }
        )
    }

    /// Reads several attributes by their handles, with as few requests as the peripheral allows.
    ///
    /// They are requested together (Read Multiple Variable Length) or, if the peripheral doesn't support that request,
    /// one by one. A value that doesn't fit in the common answer is then read completely. Source: Core Specification,
    /// Vol 3, Part G, 4.8.5.
    ///
    /// - Parameters:
    ///   - handles: any number of them.
    ///   - timeout: how long to wait for all of them; without it, the 30 s of the specification for each request.
    /// - Returns: the values, in the order of the handles.
    /// - Throws: ``BLEError/Code/attributeError`` if one of them can't be read, ``BLEError/Code/disconnected``,
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
            // A truncated or omitted value begins the next request.
            if whole.count < group.count, let next = rest.popFirst() {
                values.append(try await read(.handle(next), timeout: deadline.map { $0 - timeline.now }))
            }
        }
        for handle in rest {
            values.append(try await read(.handle(handle), timeout: deadline.map { $0 - timeline.now }))
        }
        return values
    }

    /// Reads several attributes whose values have known lengths, in one request: the octets of all values in sequence.
    ///
    /// An answer longer than ``mtu`` − 1 octets, or 22 on a link that an earlier program has left, may be truncated
    /// without notice: prefer ``read(handles:timeout:)`` unless the peripheral requires this request. Source: Core
    /// Specification, Vol 3, Part G, 4.8.4.
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
