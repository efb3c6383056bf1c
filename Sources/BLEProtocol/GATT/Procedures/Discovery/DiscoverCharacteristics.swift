/// Finds the characteristics within a range, without their descriptors.
///
/// Source: Core Specification, Vol 3, Part G, 4.6.1.
package struct DiscoverCharacteristics: GATTProcedure {
    private var walk: HandleWalk
    private var found: [Characteristic] = []

    package init(in range: ClosedRange<UInt16>) { walk = HandleWalk(range) }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[Characteristic]> { nextRequest() }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[Characteristic]>
    {
        if let error = answer.error, error.endsDiscovery { return finish() }
        let entries = try answer.response(to: ATTReadByTypeRequest.self).entries
        for entry in entries where walk.accepts(entry.handle) {
            var value = ByteReader(entry.value)
            guard entry.value.count == 5 || entry.value.count == 19,
                let properties = value.uint8(), let valueHandle = value.uint16(),
                let uuid = BluetoothUUID(littleEndian: value.rest())
            else { throw .malformedResponse(.impossibleEntry(in: .readByTypeResponse)) }
            found.append(
                Characteristic(
                    uuid: uuid,
                    properties: Characteristic.Properties(rawValue: properties),
                    handle: entry.handle,
                    valueHandle: valueHandle,
                    endHandle: walk.end
                )
            )
        }
        return walk.advance(past: entries.last?.handle ?? 0) ? nextRequest() : finish()
    }

    private func nextRequest() -> GATTStep<[Characteristic]> {
        let type = AttributeType.characteristic
        return .send(ATTReadByTypeRequest(startHandle: walk.start, endHandle: walk.end, type: type))
    }

    /// A characteristic ends before the next declaration; one whose value lies outside is left out.
    private mutating func finish() -> GATTStep<[Characteristic]> {
        for (index, next) in zip(found.indices, found.dropFirst()) { found[index].endHandle = next.handle - 1 }
        return .finished(found.filter { $0.handle < $0.valueHandle && $0.valueHandle <= $0.endHandle })
    }
}
