/// A message of the Simple Management Protocol, which MCUmgr uses with devices on Zephyr, Mynewt and others.
///
/// Eight octets of header, most significant octet first, then one CBOR map.
/// Source: Zephyr documentation, "SMP Protocol Specification".
package struct MCUmgrMessage: Hashable, Sendable {
    /// The kind of request or answer.
    package enum Operation: UInt8, Hashable, Sendable {
        case read = 0
        case readResponse = 1
        case write = 2
        case writeResponse = 3

        /// The kind of its answer.
        package var response: Operation? {
            switch self {
            case .read: .readResponse
            case .write: .writeResponse
            case .readResponse, .writeResponse: nil
            }
        }
    }

    /// A command and its group.
    package struct Command: Hashable, Sendable {
        package var group: UInt16
        package var id: UInt8

        package init(group: UInt16, id: UInt8) {
            self.group = group
            self.id = id
        }

        /// Resets the device.
        package static let reset = Command(group: 0, id: 5)
        /// Reports how many requests of what size the device can buffer.
        package static let parameters = Command(group: 0, id: 6)
        /// Lists the images and their states, or changes a state.
        package static let imageState = Command(group: 1, id: 0)
        /// Uploads a part of an image.
        package static let imageUpload = Command(group: 1, id: 1)
        /// Erases a slot.
        package static let imageErase = Command(group: 1, id: 5)
        /// Lists slots and their sizes.
        package static let slotInfo = Command(group: 1, id: 6)
    }

    package static let headerSize = 8

    /// By what an answer is recognized, and its beginning among parts of messages.
    package struct Header: Hashable, Sendable {
        package var operation: Operation
        package var command: Command
        package var sequence: UInt8

        package init(_ operation: Operation, _ command: Command, sequence: UInt8) {
            self.operation = operation
            self.command = command
            self.sequence = sequence
        }

        /// Decodes the first octets of a part; `nil` if they can't be a header.
        package init?(_ part: some Collection<UInt8>) {
            guard part.count >= MCUmgrMessage.headerSize else { return nil }
            func octet(_ offset: Int) -> UInt8 { part[part.index(part.startIndex, offsetBy: offset)] }
            guard let operation = Operation(rawValue: octet(0) & 7) else { return nil }
            let group = UInt16(octet(4)) << 8 | UInt16(octet(5))
            self.init(operation, Command(group: group, id: octet(7)), sequence: octet(6))
        }
    }

    package var operation: Operation
    /// 0 for the original protocol, 1 for "version 2".
    package var version: UInt8
    package var command: Command
    /// Repeated in the answer.
    package var sequence: UInt8
    package var body: CBORValue

    package init(_ operation: Operation, _ command: Command, sequence: UInt8, version: UInt8 = 1, body: CBORValue) {
        self.operation = operation
        self.version = version
        self.command = command
        self.sequence = sequence
        self.body = body
    }

    /// The message as octets.
    package var encoded: [UInt8] {
        let payload = body.encoded
        return [
            operation.rawValue | version << 3, 0,
            UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(truncatingIfNeeded: payload.count),
            UInt8(truncatingIfNeeded: command.group >> 8), UInt8(truncatingIfNeeded: command.group),
            sequence, command.id,
        ] + payload
    }

    /// Decodes one message, which must take up all octets.
    package init(decoding octets: some Collection<UInt8>) throws(MCUmgrDecodingError) {
        let octets = Array(octets)
        guard octets.count >= Self.headerSize else { throw .truncated }
        guard let header = Header(octets) else { throw .unknownOperation(octets[0]) }
        let length = Self.length(of: octets[...])
        guard octets.count == Self.headerSize + length else { throw .truncated }
        operation = header.operation
        version = octets[0] >> 3 & 3
        command = header.command
        sequence = header.sequence
        do throws(CBORError) {
            body = try CBORValue(decoding: octets[Self.headerSize...])
        } catch {
            throw .body(error)
        }
    }

    /// The length of the body that a header claims.
    fileprivate static func length(of header: ArraySlice<UInt8>) -> Int {
        Int(header[header.startIndex + 2]) << 8 | Int(header[header.startIndex + 3])
    }
}

/// Why octets are not a message.
package enum MCUmgrDecodingError: Error, Hashable {
    case truncated
    case unknownOperation(UInt8)
    case body(CBORError)
}

/// Reassembles messages from the notifications that carry them.
package struct MCUmgrReassembler: Sendable {
    private var octets: [UInt8] = []

    package init() {}

    /// How many octets of a message have come whose end has not.
    package var count: Int { octets.count }

    /// Adds a part and returns the messages it completes. A message has at most 65,543 octets, so memory is bounded.
    package mutating func append(_ part: some Collection<UInt8>) -> [Result<MCUmgrMessage, MCUmgrDecodingError>] {
        octets += part
        var messages: [Result<MCUmgrMessage, MCUmgrDecodingError>] = []
        while octets.count >= MCUmgrMessage.headerSize {
            let size = MCUmgrMessage.headerSize + MCUmgrMessage.length(of: octets[...])
            guard octets.count >= size else { break }
            let message = octets.prefix(size)
            messages.append(Result { () throws(MCUmgrDecodingError) in try MCUmgrMessage(decoding: message) })
            octets.removeFirst(size)
        }
        return messages
    }

    /// Adds a part of messages each of which begins with a part of its own, so that a lost part costs its message only:
    /// the next message begins anew, and the rest of one whose beginning was lost is ignored.
    ///
    /// Source: Zephyr, `smp_bt.c`: a device sends each answer in notifications of its own, of 10 octets or more.
    ///
    /// - Parameter isBeginning: whether a message with this header may come.
    package mutating func append(
        _ part: some Collection<UInt8>,
        beginning isBeginning: (MCUmgrMessage.Header) -> Bool
    ) -> [Result<MCUmgrMessage, MCUmgrDecodingError>] {
        if let header = MCUmgrMessage.Header(part), isBeginning(header) {
            octets.removeAll(keepingCapacity: true)
        } else if octets.isEmpty, part.count >= MCUmgrMessage.headerSize {
            return []
        }
        return append(part)
    }
}
