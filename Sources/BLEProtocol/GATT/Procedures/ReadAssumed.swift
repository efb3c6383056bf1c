/// Reads a value whose handle is only assumed to be right, by the type that the attribute has if it is.
///
/// The answer tells the handle: where it is the one that was assumed, the value is that of the attribute that is meant,
/// whatever else the peer's database has become. Where it is another one, or the peer refuses, it fails with
/// ``GATTFailure/databaseChanged``, and nothing is known of the value. A value that fills the answer is read on with Read
/// Blob Requests, at the handle that the peer has told.
///
/// So a peer that was met before is asked for a value with the first request, and not with the one behind those that find
/// out whether it is as it was. Source: Core Specification, Vol 3, Part G, 4.8.2.
package struct ReadAssumed: GATTProcedure {
    package static let isRepeatable = true

    package let handle: UInt16
    package let uuid: BluetoothUUID

    /// What reads on; `nil` until the peer has told where the value is.
    private var rest: ReadValue?

    /// Until the answer says so the handle is that of nothing.
    package var handles: [UInt16] { rest?.handles ?? [] }

    package var attributeType: BluetoothUUID? { uuid }

    /// - Parameters:
    ///   - uuid: the type of the value.
    ///   - handle: where it is assumed to be, as the first of its type.
    package init(_ uuid: BluetoothUUID, at handle: UInt16) {
        self.uuid = uuid
        self.handle = handle
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[UInt8]> {
        .send(ATTReadByTypeRequest(startHandle: 0x0001, endHandle: handle, type: uuid))
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[UInt8]>
    {
        if rest != nil { return try rest?.received(answer, context) ?? .finished([]) }
        if let error = answer.error, error != .databaseOutOfSync, !error.isOfSecurity { throw .databaseChanged }
        guard let entry = try answer.response(to: ATTReadByTypeRequest.self).entries.first, entry.handle == handle
        else { throw .databaseChanged }
        let room = min(answer.mtu - 4, ATTReadByTypeResponse.maximumValueLength)
        let part = Array(entry.value.prefix(room))
        guard part.count == room else { return .finished(part) }
        let rest = ReadValue(handle: handle, after: part)
        self.rest = rest
        return try rest.start(context)
    }
}
