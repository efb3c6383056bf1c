extension ATTServer {
    /// Source: Core Specification, Vol 3, Part F, 3.4.5.1.
    mutating func write(
        _ write: ATTWriteRequest,
        _ request: Request,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        let attribute = try writable(write.handle, write.value, request.security, database)
        forgetReading(of: write.handle)
        guard let proposal = try proposal(write.value, attribute) else {
            try store(write.value, attribute, &database, &output)
            return Response(ATTWriteResponse())
        }
        let token = ask(request, .write(handle: write.handle))
        output.writes.append(proposal.write(answer: .awaited(token)))
        return nil
    }

    /// A value that the program is asked to accept.
    private struct Proposal {
        let handle: UInt16
        let value: [UInt8]
        var change: AttributeWrites?

        func write(answer: ServerWrite.Answer) -> ServerWrite {
            ServerWrite(handle: handle, offset: 0, value: value, answer: answer, change: change)
        }
    }

    /// What the program is asked to accept; `nil` if the server accepts it by itself.
    ///
    /// For a stored value that the program checks, it is the complete new value: the program stores it.
    private func proposal(_ value: ArraySlice<UInt8>, _ attribute: Attribute) throws(Refusal) -> Proposal? {
        let handle = attribute.handle
        switch attribute.content {
        case .dynamic: return Proposal(handle: handle, value: Array(value))
        case .stored(let current) where attribute.isJudged:
            do throws(ATTError) {
                let new = try attribute.replacing(current, with: value)
                guard attribute.hasFixedLength, value.count < new.count else {
                    return Proposal(handle: handle, value: new)
                }
                let entry = PreparedWriteQueue.Entry(handle: handle, offset: 0, part: Array(value)[...])
                return Proposal(handle: handle, value: new, change: AttributeWrites.inOrder([entry]).first)
            } catch {
                throw Refusal(error, handle: handle)
            }
        default: return nil
        }
    }

    /// Carries out a command, or ignores it: it is never answered.
    mutating func obey(
        _ pdu: [UInt8],
        _ opcode: ATTOpcode,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) {
        guard opcode == .writeCommand else {
            output.notes.append("\(opcode) is not supported and was ignored")
            if opcode == .signedWriteCommand { noteSigned(pdu, database, &output) }
            return
        }
        do {
            guard pdu.count <= mtu else { throw Refusal(.invalidPDU) }
            guard !isOutOfSync else { throw Refusal(.databaseOutOfSync) }
            let write = try ATTWriteCommand(decoding: pdu)
            let attribute = try writable(write.handle, write.value, security, database)
            forgetReading(of: write.handle)
            if let proposal = try proposal(write.value, attribute) {
                output.writes.append(proposal.write(answer: .none))
            } else {
                try store(write.value, attribute, &database, &output)
            }
        } catch {
            let error = (error as? Refusal)?.error ?? .invalidPDU
            output.notes.append("a write command was ignored: \(error)")
            guard Self.losses.contains(error), let write = try? ATTWriteCommand(decoding: pdu) else { return }
            output.lostWrites.append(LostWrite(handle: write.handle, error: error))
        }
    }

    /// Why a command of a client that may write there is ignored.
    private static let losses: Set<ATTError> = [.databaseOutOfSync, .invalidHandle, .invalidAttributeValueLength]

    /// A signed write where the characteristic offers that is lost: nobody verifies the signature.
    private func noteSigned(_ pdu: [UInt8], _ database: AttributeDatabase, _ output: inout Output) {
        guard let write = try? ATTSignedWriteCommand(decoding: pdu),
            let characteristic = database.characteristic(at: write.handle),
            characteristic.properties.contains(.authenticatedSignedWrites),
            let attribute = database.attribute(at: write.handle),
            (try? checkWriting(attribute, security)) != nil
        else { return }
        output.lostWrites.append(LostWrite(handle: write.handle, error: .requestNotSupported))
    }

    /// The attribute, if the client may write it and the value is not too long.
    private func writable(
        _ handle: UInt16,
        _ value: ArraySlice<UInt8>,
        _ security: ATTSecurity,
        _ database: AttributeDatabase
    ) throws(Refusal) -> Attribute {
        let attribute = try attribute(at: handle, database)
        let tooLong = Refusal(.invalidAttributeValueLength, handle: handle)
        guard value.count <= ATTLimits.maximumValueLength else { throw tooLong }
        try checkWriting(attribute, security)
        guard value.count <= attribute.maximumLength else { throw tooLong }
        return attribute
    }

    /// Writes a value that the database stores, or this client's own.
    private mutating func store(
        _ value: ArraySlice<UInt8>,
        _ attribute: Attribute,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) {
        switch attribute.content {
        case .dynamic: break
        case .constant, .databaseHash: throw Refusal(.writeNotPermitted, handle: attribute.handle)
        case .clientFeatures: try setFeatures(value, at: attribute.handle, &output)
        case .clientConfiguration(let characteristic):
            try configure(characteristic, value, attribute, database, &output)
        case .stored(let current):
            do throws(ATTError) {
                let new = try attribute.replacing(current, with: value)
                commit(new, at: attribute.handle, &database, &output)
            } catch {
                throw Refusal(error, handle: attribute.handle)
            }
        }
    }

    /// Stores a new value and reports it.
    func commit(
        _ value: [UInt8],
        at handle: UInt16,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) {
        database.store(value, at: handle)
        output.writes.append(ServerWrite(handle: handle, offset: 0, value: value, answer: .stored))
    }
}

// MARK: - Subscriptions

extension ATTServer {
    /// Sets a Client Characteristic Configuration.
    ///
    /// Source: Core Specification, Vol 3, Part G, 3.3.3.3.
    mutating func configure(
        _ characteristic: UInt16,
        _ value: ArraySlice<UInt8>,
        _ attribute: Attribute,
        _ database: AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) {
        let bits = try configuration(value, of: characteristic, attribute, database)
        let isUntold = kept.handles.remove(characteristic) != nil
        let before = isUntold ? .none : client.subscription(of: characteristic)
        if bits != client.configuration(of: characteristic) { output.hasNewState = true }
        client.configure(characteristic, bits)
        configured.insert(characteristic)
        dropUnwanted(characteristic, bits, &output)
        let after = client.subscription(of: characteristic)
        if before != after {
            output.subscriptionChanges.append(.init(characteristic: characteristic, subscription: after))
        }
    }

    /// The bits of a configuration that a client writes, if it may.
    func configuration(
        _ value: ArraySlice<UInt8>,
        of characteristic: UInt16,
        _ attribute: Attribute,
        _ database: AttributeDatabase
    ) throws(Refusal) -> UInt16 {
        var reader = ByteReader(value)
        guard let bits = reader.uint16(), reader.isAtEnd else {
            throw Refusal(.invalidAttributeValueLength, handle: attribute.handle)
        }
        // Neither reserved bits nor those of a missing property: a client that set one would wait in vain for its
        // effect.
        guard bits & ~configurable(characteristic, database) == 0 else {
            throw Refusal(.valueNotAllowed, handle: attribute.handle)
        }
        return bits
    }

    /// The bits that a characteristic's properties allow.
    private func configurable(_ characteristic: UInt16, _ database: AttributeDatabase) -> UInt16 {
        let properties = database.characteristic(at: characteristic)?.properties ?? []
        return (properties.contains(.notify) ? ServerClient.Subscription.notificationBit : 0)
            | (properties.contains(.indicate) ? ServerClient.Subscription.indicationBit : 0)
    }

    /// Drops what the client no longer subscribes to, even if it was queued before.
    private mutating func dropUnwanted(_ characteristic: UInt16, _ bits: UInt16, _ output: inout Output) {
        if bits & ServerClient.Subscription.notificationBit == 0 {
            outbox.dropNotifications(of: characteristic)
        }
        if bits & ServerClient.Subscription.indicationBit == 0 {
            output.unconfirmed += outbox.dropIndications(of: characteristic)
        }
        output.room.formUnion(outbox.takeRoom(limits: limits))
    }
}
