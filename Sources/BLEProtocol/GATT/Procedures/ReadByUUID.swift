/// Reads the values of all attributes of a type within a range, without knowing their handles.
///
/// Fails with ``ATTError/attributeNotFound`` if there is none. If a later attribute can't be read, the values read
/// before it are kept: the peer doesn't continue after that one. A value that is longer than an answer can hold, 253
/// octets or ATT_MTU - 4, comes cut; ``ReadValue`` reads it whole. Source: Core Specification, Vol 3, Part G, 4.8.2.
package struct ReadByUUID: GATTProcedure {
    package struct Value: Hashable, Sendable {
        package var handle: UInt16
        package var value: [UInt8]

        package init(handle: UInt16, value: [UInt8]) {
            self.handle = handle
            self.value = value
        }
    }

    package let uuid: BluetoothUUID

    package var attributeType: BluetoothUUID? { uuid }

    private let limit: Int
    private var walk: HandleWalk
    private var found: [Value] = []

    /// With a limit it ends as soon as there are that many values; 1 is right for what can occur only once, such as the
    /// Database Hash.
    package init(_ uuid: BluetoothUUID, in range: ClosedRange<UInt16> = 0x0001...0xFFFF, limit: Int = .max) {
        self.uuid = uuid
        self.limit = limit
        walk = HandleWalk(range)
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[Value]> { nextRequest() }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[Value]>
    {
        if let error = answer.error, error != .databaseOutOfSync, !found.isEmpty { return .finished(found) }
        let entries = try answer.response(to: ATTReadByTypeRequest.self).entries
        for entry in entries where walk.accepts(entry.handle) && found.count < limit {
            found.append(Value(handle: entry.handle, value: Array(entry.value)))
        }
        guard found.count < limit, walk.advance(past: entries.last?.handle ?? 0) else { return .finished(found) }
        return nextRequest()
    }

    private func nextRequest() -> GATTStep<[Value]> {
        .send(ATTReadByTypeRequest(startHandle: walk.start, endHandle: walk.end, type: uuid))
    }
}
