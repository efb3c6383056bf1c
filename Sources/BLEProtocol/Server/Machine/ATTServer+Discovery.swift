/// The requests with which a client discovers the database. Their answers hold as much as fits; a client asks again
/// from after the last handle until it gets Attribute Not Found.
extension ATTServer {
    /// Source: Core Specification, Vol 3, Part F, 3.4.3.1.
    func findInformation(
        _ find: ATTFindInformationRequest,
        _ request: Request,
        _ database: AttributeDatabase
    ) throws(Refusal) -> Response {
        let found = try attributes(from: find.startHandle, through: find.endHandle, database)
        guard let first = found.first else { throw Refusal(.attributeNotFound, handle: find.startHandle) }
        // One PDU holds types of one width only.
        let format = ATTFindInformationResponse.Format(for: first.type)
        let entries = found.prefix { ATTFindInformationResponse.Format(for: $0.type) == format }
            .prefix((request.mtu - 2) / format.entryLength)
            .map { ATTFindInformationResponse.Entry(handle: $0.handle, type: $0.type) }
        return Response(ATTFindInformationResponse(format: format, entries: entries))
    }

    /// Compares the values in the database; a value that the program supplies matches nothing.
    ///
    /// Source: Core Specification, Vol 3, Part F, 3.4.3.3.
    func findByTypeValue(
        _ find: ATTFindByTypeValueRequest,
        _ request: Request,
        _ database: AttributeDatabase
    ) throws(Refusal) -> Response {
        let type = BluetoothUUID(find.type)
        let entries = try attributes(from: find.startHandle, through: find.endHandle, database).lazy
            .filter { attribute in
                // The client must not learn this way what it may not read; the request has no error for that.
                attribute.type == type && value(of: attribute).map { $0[...] == find.value } ?? false
                    && mayRead(attribute, request.security)
            }
            .prefix((request.mtu - 1) / 4)
            .map { ATTFindByTypeValueResponse.Entry(handle: $0.handle, groupEndHandle: $0.groupEnd) }
        guard !entries.isEmpty else { throw Refusal(.attributeNotFound, handle: find.startHandle) }
        return Response(ATTFindByTypeValueResponse(entries: Array(entries)))
    }

    /// Source: Core Specification, Vol 3, Part F, 3.4.4.9; only services are groups (Part G, 2.5.3).
    func readByGroupType(
        _ read: ATTReadByGroupTypeRequest,
        _ request: Request,
        _ database: AttributeDatabase
    ) throws(Refusal) -> Response {
        let range = try attributes(from: read.startHandle, through: read.endHandle, database)
        guard [AttributeType.primaryService, AttributeType.secondaryService].contains(read.groupType) else {
            throw Refusal(.unsupportedGroupType, handle: read.startHandle)
        }
        let longest = min(request.mtu - 6, ATTReadByGroupTypeResponse.maximumValueLength)
        var entries: [ATTReadByGroupTypeResponse.Entry] = []
        var room = request.mtu - 2
        for attribute in range where attribute.type == read.groupType {
            guard let value = value(of: attribute)?.prefix(longest), value.count + 4 <= room,
                value.count == entries.first?.value.count ?? value.count
            else { break }
            entries.append(.init(handle: attribute.handle, groupEndHandle: attribute.groupEnd, value: value))
            room -= value.count + 4
        }
        guard !entries.isEmpty else { throw Refusal(.attributeNotFound, handle: read.startHandle) }
        return Response(ATTReadByGroupTypeResponse(entries: entries))
    }
}
