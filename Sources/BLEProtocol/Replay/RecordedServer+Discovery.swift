extension RecordedServer {
    /// The handles in a range that have a given type.
    private func range(_ start: UInt16, _ end: UInt16) -> [(handle: UInt16, type: BluetoothUUID)] {
        guard start > 0, start <= end else { return [] }
        return handles.filter { (start...end).contains($0) }.compactMap { handle in
            device.attributes[handle]?.type.map { (handle, $0) }
        }
    }

    func information(_ request: ATTFindInformationRequest) -> [UInt8] {
        let found = range(request.startHandle, request.endHandle)
        guard let first = found.first else {
            return refuse(.findInformationRequest, request.startHandle, .attributeNotFound)
        }
        let format = ATTFindInformationResponse.Format(for: first.type)
        let entries = found.prefix { ATTFindInformationResponse.Format(for: $0.type) == format }
            .prefix((mtu - 2) / format.entryLength)
            .map { ATTFindInformationResponse.Entry(handle: $0.handle, type: $0.type) }
        return ATTFindInformationResponse(format: format, entries: entries).encoded
    }

    func services(_ request: ATTFindByTypeValueRequest) -> [UInt8] {
        let entries = range(request.startHandle, request.endHandle).filter { handle, type in
            type == BluetoothUUID(request.type)
                && device.attributes[handle]?.declaration.map { $0[...] } == request.value
        }
        guard !entries.isEmpty else { return refuse(.findByTypeValueRequest, request.startHandle, .attributeNotFound) }
        return ATTFindByTypeValueResponse(
            entries: entries.prefix((mtu - 1) / 4).map { handle, _ in
                ATTFindByTypeValueResponse.Entry(
                    handle: handle,
                    groupEndHandle: device.attributes[handle]?.groupEnd ?? handle
                )
            }
        ).encoded
    }

    func groups(_ request: ATTReadByGroupTypeRequest) -> [UInt8] {
        guard [AttributeType.primaryService, AttributeType.secondaryService].contains(request.groupType) else {
            return refuse(.readByGroupTypeRequest, request.startHandle, .unsupportedGroupType)
        }
        let found = range(request.startHandle, request.endHandle).filter { $0.type == request.groupType }
        let values = found.compactMap { handle, _ in device.attributes[handle]?.declaration.map { (handle, $0) } }
        let longest = min(mtu - 6, ATTReadByGroupTypeResponse.maximumValueLength)
        guard let width = values.first?.1.count, width > 0, width <= longest else {
            return refuse(.readByGroupTypeRequest, request.startHandle, .attributeNotFound)
        }
        let entries = values.prefix { $0.1.count == width }.prefix((mtu - 2) / (width + 4)).map { handle, value in
            ATTReadByGroupTypeResponse.Entry(
                handle: handle,
                groupEndHandle: device.attributes[handle]?.groupEnd ?? handle,
                value: value[...]
            )
        }
        return ATTReadByGroupTypeResponse(entries: entries).encoded
    }

    /// As many declarations as fit; of values only the first, as it is read next.
    mutating func typed(_ request: ATTReadByTypeRequest) -> [UInt8] {
        let found = range(request.startHandle, request.endHandle).filter { $0.type == request.type }
        guard let first = found.first else {
            return refuse(.readByTypeRequest, request.startHandle, .attributeNotFound)
        }
        var entries: [ATTReadByTypeResponse.Entry] = []
        switch nextOutcome(of: first.handle) {
        case .error(let error): return refuse(.readByTypeRequest, first.handle, error)
        case .value(let value):
            let part = value.prefix(min(mtu - 4, ATTReadByTypeResponse.maximumValueLength))
            entries.append(ATTReadByTypeResponse.Entry(handle: first.handle, value: part))
        }
        guard AttributeType.isDeclaration(request.type), let width = entries.first?.value.count else {
            return ATTReadByTypeResponse(entries: entries).encoded
        }
        for (handle, _) in found.dropFirst() {
            guard let value = device.attributes[handle]?.declaration, value.count == width,
                (entries.count + 1) * (width + 2) <= mtu - 2
            else { break }
            entries.append(ATTReadByTypeResponse.Entry(handle: handle, value: value[...]))
        }
        return ATTReadByTypeResponse(entries: entries).encoded
    }
}
