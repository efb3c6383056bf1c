extension ATTServer {
    /// A remaining step of an Execute Write, one attribute after another.
    enum ExecutionStep: Sendable {
        /// Write a value that the server stores.
        case store(AttributeWrites)
        /// Ask the program to accept octets at an offset.
        case ask(handle: UInt16, offset: Int, value: [UInt8])
        /// Ask the program to accept the new value of an attribute that the server stores.
        case propose(AttributeWrites)

        /// The attribute that it writes.
        var handle: UInt16 {
            switch self {
            case .store(let writes), .propose(let writes): writes.handle
            case .ask(let handle, _, _): handle
            }
        }
    }

    /// Queues a write. Whether the client may write is checked now, offset and length when it is executed: only then is
    /// the length of the value known. Invalid Offset and Invalid Attribute Value Length are not answers to this
    /// request.
    ///
    /// Source: Core Specification, Vol 3, Part F, 3.4.6.1.
    mutating func prepareWrite(
        _ write: ATTPrepareWriteRequest,
        _ request: Request,
        _ database: AttributeDatabase
    ) throws(Refusal) -> Response {
        try checkWriting(try attribute(at: write.handle, database), request.security)
        let entry = PreparedWriteQueue.Entry(handle: write.handle, offset: Int(write.offset), part: write.part)
        guard client.preparedWrites.append(entry, limits: limits) else {
            throw Refusal(.prepareQueueFull, handle: write.handle)
        }
        return Response(ATTPrepareWriteResponse(handle: write.handle, offset: write.offset, part: write.part))
    }

    /// Executes the queued writes in their order, or discards them. The queue is empty afterwards in any case.
    ///
    /// Everything that can be checked is checked before anything is written, also whether the client may write: the
    /// services may have changed since the writes were prepared. If the program must be asked, and refuses, earlier
    /// writes stay written. Source: Core Specification, Vol 3, Part F, 3.4.6.3.
    mutating func executeWrite(
        _ execution: ATTExecuteWriteRequest,
        _ request: Request,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        let entries = client.preparedWrites.take()
        let isStale = caching.hasStaleWrites
        caching.hasStaleWrites = false
        switch execution.flags {
        case .cancel: return Response(ATTExecuteWriteResponse())
        case .write: break
        default: throw Refusal(.invalidPDU)
        }
        if isStale { try checkSync(executing: entries) }
        try rehearse(entries, request.security, database)
        var steps: [ExecutionStep] = []
        for writes in AttributeWrites.inOrder(entries) {
            forgetReading(of: writes.handle)
            let attribute = database.attribute(at: writes.handle)
            switch attribute?.content {
            case .dynamic?:
                steps += writes.runs.map { .ask(handle: writes.handle, offset: $0.offset, value: $0.value) }
            case .stored? where attribute?.isJudged == true: steps.append(.propose(writes))
            default: steps.append(.store(writes))
            }
        }
        return try execute(steps[...], request, &database, &output)
    }

    /// Goes through the steps until the program must be asked.
    mutating func execute(
        _ steps: ArraySlice<ExecutionStep>,
        _ request: Request,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        var steps = steps
        while let step = steps.popFirst() {
            switch step {
            case .store(let writes):
                try store(writes, &database, &output)
            case .ask(let handle, let offset, let value):
                let token = ask(request, .execute(handle: handle, rest: steps))
                output.writes.append(
                    ServerWrite(handle: handle, offset: offset, value: value, answer: .awaited(token))
                )
                return nil
            case .propose(let writes):
                let attribute = try attribute(at: writes.handle, database)
                let value = try merged(writes, attribute)
                let change = writes.leavesPart(of: attribute) ? writes : nil
                let token = ask(request, .execute(handle: writes.handle, rest: steps))
                output.writes.append(
                    ServerWrite(handle: writes.handle, offset: 0, value: value, answer: .awaited(token), change: change)
                )
                return nil
            }
        }
        return Response(ATTExecuteWriteResponse())
    }

    /// Finds the first write of the queue that can't be done, without doing any.
    private func rehearse(
        _ entries: [PreparedWriteQueue.Entry],
        _ security: ATTSecurity,
        _ database: AttributeDatabase
    ) throws(Refusal) {
        var values: [UInt16: [UInt8]] = [:]
        for entry in entries {
            let attribute = try attribute(at: entry.handle, database)
            try checkWriting(attribute, security)
            do throws(ATTError) {
                if let current = values[entry.handle] ?? value(of: attribute) {
                    values[entry.handle] = try attribute.overlaying(current, with: entry.part, at: entry.offset)
                } else if entry.offset > attribute.maximumLength {
                    // The length of the program's value is not known, and the program checks the offset itself; but no
                    // value is that long.
                    throw .invalidOffset
                } else if entry.end > attribute.maximumLength {
                    throw .invalidAttributeValueLength
                }
            } catch {
                throw Refusal(error, handle: entry.handle)
            }
        }
        for handle in entries.map(\.handle) {
            guard let value = values.removeValue(forKey: handle) else { continue }
            let attribute = try attribute(at: handle, database)
            switch attribute.content {
            case .clientConfiguration(let characteristic):
                _ = try configuration(value[...], of: characteristic, attribute, database)
            case .clientFeatures: _ = try features(value[...], at: handle)
            case .constant, .stored, .dynamic, .databaseHash: break
            }
        }
    }

    /// The value of an attribute that the server stores, after some writes.
    private func merged(_ writes: AttributeWrites, _ attribute: Attribute) throws(Refusal) -> [UInt8] {
        // The attribute is dynamic now but was not when the writes were checked: the services have changed in between.
        guard let current = value(of: attribute) else { throw Refusal(.unlikely, handle: writes.handle) }
        do throws(ATTError) {
            return try writes.merged(into: current, of: attribute)
        } catch {
            throw Refusal(error, handle: writes.handle)
        }
    }

    /// Writes an attribute that the server stores.
    private mutating func store(
        _ writes: AttributeWrites,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) {
        let attribute = try attribute(at: writes.handle, database)
        let value = try merged(writes, attribute)
        switch attribute.content {
        case .clientConfiguration(let characteristic):
            try configure(characteristic, value[...], attribute, database, &output)
        case .clientFeatures: try setFeatures(value[...], at: writes.handle, &output)
        case .constant, .stored, .dynamic, .databaseHash: commit(value, at: writes.handle, &database, &output)
        }
    }
}
