extension ATTServer {
    /// Answers a request; `nil`: the program was asked, and the answer follows its own.
    ///
    /// If several errors apply, the first in this order is sent: the PDU's form, the opcode, a change that the client
    /// doesn't know of, the handle, the direction, the link's security, authorization, offset and length, and finally
    /// the program's error.
    mutating func answer(
        _ request: Request,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        guard request.pdu.count <= request.mtu else { throw Refusal(.invalidPDU) }
        switch request.opcode {
        case .exchangeMTURequest: return exchangeMTU(try decode(request))
        case .findInformationRequest: return try findInformation(try decode(request), request, database)
        case .findByTypeValueRequest: return try findByTypeValue(try decode(request), request, database)
        case .readByGroupTypeRequest: return try readByGroupType(try decode(request), request, database)
        case .readByTypeRequest:
            let read: ATTReadByTypeRequest = try decode(request)
            try checkSync(read)
            return try readByType(read, request, database, &output)
        case .readRequest:
            let read: ATTReadRequest = try decode(request)
            try checkSync(read.handle)
            return try self.read(read.handle, offset: 0, request, database, &output)
        case .readBlobRequest:
            let read: ATTReadBlobRequest = try decode(request)
            try checkSync(read.handle)
            return try self.read(read.handle, offset: Int(read.offset), request, database, &output)
        case .readMultipleRequest:
            let read: ATTReadMultipleRequest = try decode(request)
            try checkSync(read.handles.first ?? 0)
            return try readMultiple(read.handles, request, database, &output)
        case .readMultipleVariableRequest:
            let read: ATTReadMultipleVariableRequest = try decode(request)
            try checkSync(read.handles.first ?? 0)
            return try readMultiple(read.handles, request, database, &output)
        case .writeRequest:
            let write: ATTWriteRequest = try decode(request)
            try checkSync(write.handle)
            return try self.write(write, request, &database, &output)
        case .prepareWriteRequest:
            let write: ATTPrepareWriteRequest = try decode(request)
            try checkSync(write.handle)
            return try prepareWrite(write, request, database)
        case .executeWriteRequest: return try executeWrite(try decode(request), request, &database, &output)
        default: throw Refusal(.requestNotSupported)
        }
    }

    /// Continues a request with the program's answer.
    ///
    /// What remains to be read or written is checked once more: the services may have changed while the program was
    /// asked, and a handle may be another attribute's.
    mutating func resume(
        _ question: Question,
        with result: Result<[UInt8], ATTError>,
        _ database: inout AttributeDatabase,
        _ output: inout Output
    ) throws(Refusal) -> Response? {
        func value(of handle: UInt16) throws(Refusal) -> [UInt8] {
            switch result {
            case .success(let value): return Array(value.prefix(ATTLimits.maximumValueLength))
            case .failure(let error): throw Refusal(error, handle: handle)
            }
        }
        let request = question.request
        switch question.continuation {
        case .read(let handle, let offset):
            return try part(of: try value(of: handle), at: offset, handle: handle, request)
        case .readByType(let handle):
            return list([(handle, try value(of: handle))], request)
        case .readMultiple(var read):
            read.add(try value(of: read.next))
            for handle in read.handles { try checkReading(try attribute(at: handle, database), request.security) }
            return readMultiple(read, request, database, &output)
        case .write(let handle):
            _ = try value(of: handle)
            return Response(ATTWriteResponse())
        case .execute(let handle, let rest):
            _ = try value(of: handle)
            for step in rest { try checkWriting(try attribute(at: step.handle, database), request.security) }
            return try execute(rest, request, &database, &output)
        }
    }

    private func decode<PDU: ATTPDU>(_ request: Request) throws(Refusal) -> PDU {
        do { return try PDU(decoding: request.pdu) } catch { throw Refusal(.invalidPDU) }
    }

    /// Offers the client this device's MTU; the smaller of the two applies once the response is sent.
    private func exchangeMTU(_ exchange: ATTExchangeMTURequest) -> Response {
        let agreed = min(Int(exchange.clientMTU), maximumMTU)
        return Response(ATTExchangeMTUResponse(serverMTU: UInt16(maximumMTU)), mtu: agreed)
    }
}

// MARK: - Ranges and permissions

extension ATTServer {
    /// The attributes from one handle to another.
    func attributes(
        from start: UInt16,
        through end: UInt16,
        _ database: AttributeDatabase
    ) throws(Refusal) -> ArraySlice<Attribute> {
        guard start > 0, start <= end else { throw Refusal(.invalidHandle, handle: start) }
        return database.attributes(from: start, through: end)
    }

    func attribute(at handle: UInt16, _ database: AttributeDatabase) throws(Refusal) -> Attribute {
        guard let attribute = database.attribute(at: handle) else { throw Refusal(.invalidHandle, handle: handle) }
        return attribute
    }

    /// Whether the client may read the attribute.
    func checkReading(_ attribute: Attribute, _ security: ATTSecurity) throws(Refusal) {
        try check(attribute.permissions.read, .readNotPermitted, attribute, security)
    }

    func mayRead(_ attribute: Attribute, _ security: ATTSecurity) -> Bool {
        (try? checkReading(attribute, security)) != nil
    }

    /// Whether the client may write the attribute.
    func checkWriting(_ attribute: Attribute, _ security: ATTSecurity) throws(Refusal) {
        try check(attribute.permissions.write, .writeNotPermitted, attribute, security)
    }

    private func check(
        _ requirement: AccessRequirement?,
        _ denial: ATTError,
        _ attribute: Attribute,
        _ security: ATTSecurity
    ) throws(Refusal) {
        guard let requirement else { throw Refusal(denial, handle: attribute.handle) }
        if let error = requirement.refusal(security: security, isAuthorized: client.isAuthorized) {
            throw Refusal(error, handle: attribute.handle)
        }
    }

    /// The attribute's value as this client sees it; `nil`: the program must be asked.
    func value(of attribute: Attribute) -> [UInt8]? {
        switch attribute.content {
        case .constant(let value), .stored(let value), .databaseHash(let value): return value
        case .dynamic: return nil
        case .clientFeatures: return [client.features.rawValue]
        case .clientConfiguration(let characteristic):
            let bits = client.configuration(of: characteristic)
            return [UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)]
        }
    }
}
