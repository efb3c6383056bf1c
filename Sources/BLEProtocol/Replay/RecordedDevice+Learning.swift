extension RecordedDevice {
    /// Learns from a link what it shows of the device.
    mutating func learn(from link: CapturedTraffic.Link) {
        var request: [UInt8]?
        var prepared: UInt16?
        var centralMTU = UInt16(ATTLimits.defaultMTU)
        for pdu in link.pdus {
            guard let opcode = pdu.octets.first.map(ATTOpcode.init) else { continue }
            if !pdu.isFromPeripheral {
                if opcode.kind == .request { request = pdu.octets }
                centralMTU = Self.mtu(in: pdu.octets, opcode) ?? centralMTU
                continue
            }
            // The peripheral's own requests, as a client, are another conversation, but its MTU is the same in both.
            if opcode == .exchangeMTURequest, let own = Self.mtu(in: pdu.octets, opcode) { mtu = max(mtu, own) }
            guard opcode.kind == .response, let asked = request else { continue }
            request = nil
            guard opcode == .errorResponse || opcode.rawValue == asked[0] &+ 1 else { continue }
            let linkMTU = max(ATTLimits.defaultMTU, Int(min(centralMTU, mtu)))
            learn(opcode, answer: pdu.octets, cutBy: linkMTU, to: asked, &prepared)
        }
    }

    /// The MTU that one side names in an exchange.
    private static func mtu(in pdu: [UInt8], _ opcode: ATTOpcode) -> UInt16? {
        switch opcode {
        case .exchangeMTURequest: (try? ATTExchangeMTURequest(decoding: pdu))?.clientMTU
        case .exchangeMTUResponse: (try? ATTExchangeMTUResponse(decoding: pdu))?.serverMTU
        default: nil
        }
    }

    private mutating func learn(
        _ opcode: ATTOpcode,
        answer: [UInt8],
        cutBy linkMTU: Int,
        to request: [UInt8],
        _ prepared: inout UInt16?
    ) {
        let written = Self.written(by: request, &prepared)
        switch opcode {
        case .errorResponse:
            guard let response = try? ATTErrorResponse(decoding: answer), response.request.rawValue == request.first
            else {
                return
            }
            learn(response.error, of: request, written)
        case .exchangeMTUResponse:
            mtu = max(mtu, Self.mtu(in: answer, opcode) ?? mtu)
        case .findInformationResponse:
            for entry in (try? ATTFindInformationResponse(decoding: answer))?.entries ?? [] {
                attributes[entry.handle, default: Attribute()].type = entry.type
            }
        case .findByTypeValueResponse: learnServices(answer, request)
        case .readByGroupTypeResponse: learnGroups(answer, request)
        case .readByTypeResponse: learnTyped(answer, request)
        case .readResponse, .readBlobResponse: learnValue(Array(answer.dropFirst()), request)
        case .readMultipleVariableResponse:
            guard let handles = (try? ATTReadMultipleVariableRequest(decoding: request))?.handles,
                let values = try? ReadMultipleVariable.values(of: answer[...], cutBy: linkMTU)
            else { return }
            for (handle, value) in zip(handles, values) where !value.isCut { note(value.value, of: handle) }
        case .writeResponse, .executeWriteResponse:
            guard let written else { return }
            know(written)
            writes[written, default: []].append(nil)
        default: break
        }
    }

    private mutating func know(_ handle: UInt16) {
        if attributes[handle] == nil { attributes[handle] = Attribute() }
    }

    private mutating func note(_ value: some Sequence<UInt8>, of handle: UInt16) {
        know(handle)
        reads[handle, default: []].append(.value(Array(value)))
    }

    // MARK: - Answers

    private mutating func learn(_ error: ATTError, of request: [UInt8], _ written: UInt16?) {
        // A long write is refused as a whole, or already one of its parts.
        let isPart = request.first == ATTOpcode.prepareWriteRequest.rawValue
        if let refused = written ?? (isPart ? Self.handle(in: request) : nil) {
            if error != .invalidHandle { know(refused) }
            writes[refused, default: []].append(error)
        } else if request.first == ATTOpcode.readRequest.rawValue, let handle = Self.handle(in: request),
            error != .invalidHandle
        {
            know(handle)
            reads[handle, default: []].append(.error(error))
        }
    }

    private mutating func learnServices(_ answer: [UInt8], _ request: [UInt8]) {
        guard let response = try? ATTFindByTypeValueResponse(decoding: answer),
            let asked = try? ATTFindByTypeValueRequest(decoding: request)
        else { return }
        for entry in response.entries {
            declare(entry.handle, BluetoothUUID(asked.type), asked.value, groupEnd: entry.groupEndHandle)
        }
    }

    private mutating func learnGroups(_ answer: [UInt8], _ request: [UInt8]) {
        guard let response = try? ATTReadByGroupTypeResponse(decoding: answer),
            let asked = try? ATTReadByGroupTypeRequest(decoding: request)
        else { return }
        for entry in response.entries {
            declare(entry.handle, asked.groupType, entry.value, groupEnd: entry.groupEndHandle)
        }
    }

    private mutating func learnTyped(_ answer: [UInt8], _ request: [UInt8]) {
        guard let response = try? ATTReadByTypeResponse(decoding: answer),
            let asked = try? ATTReadByTypeRequest(decoding: request)
        else { return }
        for entry in response.entries {
            guard AttributeType.isDeclaration(asked.type) else {
                attributes[entry.handle, default: Attribute()].type = asked.type
                note(entry.value, of: entry.handle)
                continue
            }
            declare(entry.handle, asked.type, entry.value, groupEnd: nil)
            guard asked.type == AttributeType.characteristic else { continue }
            // Properties, the value's handle, its type.
            var reader = ByteReader(entry.value)
            guard reader.uint8() != nil, let value = reader.uint16(),
                let type = BluetoothUUID(littleEndian: reader.rest())
            else { continue }
            attributes[value, default: Attribute()].type = type
        }
    }

    /// Finds the configurations that the central has taken for granted: bluetoothd writes to the only attribute behind
    /// a value that is notified of, without asking for its type.
    mutating func assumeConfigurations() {
        let handles = handles
        let ends = attributes.values.compactMap(\.groupEnd)
        for (place, handle) in handles.enumerated() {
            guard let attribute = attributes[handle], attribute.type == AttributeType.characteristic,
                let declaration = attribute.declaration, declaration.count >= 5, declaration[0] & 0x30 != 0
            else { continue }
            let value = UInt16(declaration[1]) | UInt16(declaration[2]) << 8
            let next = handles.dropFirst(place + 1).first { attributes[$0]?.declaration != nil }
            let end = [next.map { $0 &- 1 }, ends.filter { $0 >= value }.min()].compactMap { $0 }.min()
            // The only attribute of its characteristic: nothing but its configuration can be there.
            guard let end, value < end, end - value == 1, attributes[end]?.type == nil else { continue }
            attributes[end, default: Attribute()].type = BluetoothUUID.clientCharacteristicConfiguration
        }
    }

    private mutating func declare(
        _ handle: UInt16,
        _ type: BluetoothUUID,
        _ value: ArraySlice<UInt8>,
        groupEnd: UInt16?
    ) {
        attributes[handle] = Attribute(type: type, declaration: Array(value), groupEnd: groupEnd)
    }

    /// A value, or the next part of one that is read in parts.
    private mutating func learnValue(_ part: [UInt8], _ request: [UInt8]) {
        guard let handle = Self.handle(in: request) else { return }
        guard let blob = try? ATTReadBlobRequest(decoding: request), blob.offset > 0 else {
            return note(part, of: handle)
        }
        guard case .value(let value)? = reads[handle]?.last, value.count == Int(blob.offset),
            value.count + part.count <= ATTLimits.maximumValueLength
        else { return }
        reads[handle]?.removeLast()
        reads[handle]?.append(.value(value + part))
    }
}
