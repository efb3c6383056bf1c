extension ATTServer {
    /// Read and Read Blob. Source: Core Specification, Vol 3, Part F, 3.4.4.3 and 3.4.4.5.
    mutating func read(
        _ handle: UInt16,
        offset: Int,
        _ request: Request,
        _ database: AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        let attribute = try attribute(at: handle, database)
        try checkReading(attribute, request.security)
        guard let value = value(of: attribute) else {
            let token = ask(request, .read(handle: handle, offset: offset))
            output.reads.append(PendingRead(token: token, handle: handle, offset: offset, limit: request.mtu - 1))
            return nil
        }
        noteReading(of: attribute)
        guard case .stored = attribute.content else {
            return try part(of: value, at: offset, handle: handle, request)
        }
        let whole = longReads[handle]?.whole(from: offset) ?? value
        let response = try part(of: whole, at: offset, handle: handle, request)
        answered(whole, at: handle, upTo: offset + request.mtu - 1)
        return response
    }

    /// A stored value of which the client has read a part: it may change before the next part, and both would make a
    /// value that never was.
    struct LongRead: Sendable {
        let value: [UInt8]
        /// Where the next part begins.
        let end: Int

        /// The value to which the part from an offset on belongs, if it follows the one that was read last.
        func whole(from offset: Int) -> [UInt8]? { offset == end ? value : nil }
    }

    /// At most this many are kept; if a client alternates between more, the rest of each is of the value as it is then.
    private static let mostLongReads = 4

    /// Keeps a stored value that was answered up to a place, unless it ends before that.
    private mutating func answered(_ value: [UInt8], at handle: UInt16, upTo end: Int) {
        guard end <= value.count else { return forgetReading(of: handle) }
        if longReads.count >= Self.mostLongReads, longReads[handle] == nil { longReads = [:] }
        longReads[handle] = LongRead(value: value, end: end)
    }

    /// The client has changed the value itself, or has read all of it.
    mutating func forgetReading(of handle: UInt16) { if !longReads.isEmpty { longReads[handle] = nil } }

    /// As much of a value as fits, from an offset on; empty if the value ends there.
    func part(of value: [UInt8], at offset: Int, handle: UInt16, _ request: Request) throws(Refusal) -> Response {
        guard offset <= value.count else { throw Refusal(.invalidOffset, handle: handle) }
        let part = value[offset...].prefix(request.mtu - 1)
        return request.opcode == .readRequest
            ? Response(ATTReadResponse(value: part)) : Response(ATTReadBlobResponse(part: part))
    }

    /// The values of a type with the same length as the first one, as many as fit.
    ///
    /// A value that the program must supply is answered alone if it is the first, and otherwise ends the list: the
    /// client asks again from after the last handle anyway. Source: Core Specification, Vol 3, Part F, 3.4.4.1.
    mutating func readByType(
        _ read: ATTReadByTypeRequest,
        _ request: Request,
        _ database: AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        var found: [(handle: UInt16, value: [UInt8])] = []
        for attribute in try attributes(from: read.startHandle, through: read.endHandle, database)
        where attribute.type == read.type {
            do throws(Refusal) {
                try checkReading(attribute, request.security)
            } catch {
                // The first one's error is the answer, a later one's ends the list.
                if found.isEmpty { throw error }
                break
            }
            guard let value = value(of: attribute) else {
                guard found.isEmpty else { break }
                let token = ask(request, .readByType(handle: attribute.handle))
                let limit = longestListed(request)
                output.reads.append(PendingRead(token: token, handle: attribute.handle, offset: 0, limit: limit))
                return nil
            }
            noteReading(of: attribute)
            found.append((attribute.handle, value))
        }
        guard !found.isEmpty else { throw Refusal(.attributeNotFound, handle: read.startHandle) }
        let entries = listed(found, request)
        keepRests(of: found, behind: entries, request, database)
        return Response(ATTReadByTypeResponse(entries: entries))
    }

    /// Keeps the stored values that fill their places in a Read By Type Response: the client reads the rest of each.
    private mutating func keepRests(
        of found: [(handle: UInt16, value: [UInt8])],
        behind entries: [ATTReadByTypeResponse.Entry],
        _ request: Request,
        _ database: AttributeDatabase
    ) {
        for (entry, whole) in zip(entries, found) where entry.value.count == longestListed(request) {
            guard case .stored? = database.attribute(at: entry.handle)?.content else { continue }
            answered(whole.value, at: entry.handle, upTo: entry.value.count)
        }
    }

    /// A Read By Type Response of what fits.
    func list(_ found: [(handle: UInt16, value: [UInt8])], _ request: Request) -> Response {
        Response(ATTReadByTypeResponse(entries: listed(found, request)))
    }

    /// How many octets of a value an entry of a Read By Type Response has at most.
    private func longestListed(_ request: Request) -> Int {
        min(request.mtu - 4, ATTReadByTypeResponse.maximumValueLength)
    }

    private func listed(
        _ found: [(handle: UInt16, value: [UInt8])],
        _ request: Request
    ) -> [ATTReadByTypeResponse.Entry] {
        let longest = longestListed(request)
        let cut = found.map { ATTReadByTypeResponse.Entry(handle: $0.handle, value: $0.value.prefix(longest)) }
        let length = cut.first?.value.count ?? 0
        return Array(cut.prefix { $0.value.count == length }.prefix((request.mtu - 2) / (length + 2)))
    }
}

// MARK: - Several values at once

extension ATTServer {
    /// Several values on their way into one response.
    struct MultipleRead: Sendable {
        /// The attributes that remain to be read, at least one while the program is asked.
        private(set) var handles: ArraySlice<UInt16>
        private(set) var values: [[UInt8]] = []
        /// How many octets still fit into the response.
        private(set) var room: Int
        /// The octets before each value: its length, or nothing.
        let prefixLength: Int

        init(_ handles: [UInt16], _ request: Request) {
            self.handles = handles[...]
            room = request.mtu - 1
            prefixLength = request.opcode == .readMultipleVariableRequest ? 2 : 0
        }

        /// The attribute that is read next.
        var next: UInt16 { handles.first ?? 0 }

        /// Whether all is read, or no further value, not even its length, fits.
        var isComplete: Bool { handles.isEmpty || room < max(prefixLength, 1) }

        mutating func add(_ value: [UInt8]) {
            values.append(value)
            handles = handles.dropFirst()
            room -= prefixLength + min(value.count, room - prefixLength)
        }
    }

    /// Read Multiple, with values of known lengths or with their lengths included.
    ///
    /// Source: Core Specification, Vol 3, Part F, 3.4.4.7 and 3.4.4.11.
    mutating func readMultiple(
        _ handles: [UInt16],
        _ request: Request,
        _ database: AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        for handle in handles { try checkReading(try attribute(at: handle, database), request.security) }
        return readMultiple(MultipleRead(handles, request), request, database, &output)
    }

    /// Continues until all is read, nothing more fits, or the program must be asked.
    mutating func readMultiple(
        _ read: MultipleRead,
        _ request: Request,
        _ database: AttributeDatabase,
        _ output: inout Output
    ) -> Response? {
        var read = read
        while !read.isComplete {
            guard let value = database.attribute(at: read.next).flatMap({ value(of: $0) }) else {
                let token = ask(request, .readMultiple(read))
                let limit = read.room - read.prefixLength
                output.reads.append(PendingRead(token: token, handle: read.next, offset: 0, limit: limit))
                return nil
            }
            read.add(value)
        }
        let room = request.mtu - 1
        if read.prefixLength == 0 {
            return Response(ATTReadMultipleResponse(values: Array(read.values.joined()).prefix(room)))
        }
        var left = room
        let entries = read.values.map { value in
            let entry = ATTReadMultipleVariableResponse.Entry(
                length: UInt16(value.count),
                value: value.prefix(left - read.prefixLength)
            )
            left -= read.prefixLength + entry.value.count
            return entry
        }
        return Response(ATTReadMultipleVariableResponse(entries: entries))
    }
}
