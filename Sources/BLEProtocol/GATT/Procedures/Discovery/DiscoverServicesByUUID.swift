/// Finds the primary services with one UUID, without their content.
///
/// A UUID that has a 16-bit form is requested in that form; if nothing is found, again in 128 bits: a server compares
/// octets, and a few devices declare the long form. Source: Core Specification, Vol 3, Part G, 4.4.2.
package struct DiscoverServicesByUUID: GATTProcedure {
    package let uuid: BluetoothUUID

    private var walk: HandleWalk
    private(set) var found: [GATTService] = []
    /// The handles found: bad devices list out of order, and no peer makes the list longer than the range.
    private var handles: Set<UInt16> = []
    private var isLongForm: Bool

    /// - Parameter isLongForm: whether only the 128-bit form is requested, even if there is a shorter one.
    package init(_ uuid: BluetoothUUID, in range: ClosedRange<UInt16> = 0x0001...0xFFFF, isLongForm: Bool = false) {
        self.uuid = uuid
        walk = HandleWalk(range)
        self.isLongForm = isLongForm || uuid.short == nil
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[GATTService]> { nextRequest() }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[GATTService]>
    {
        if let error = answer.error, error.endsDiscovery {
            guard found.isEmpty, !isLongForm else { return .finished(GATTDatabase.inOrder(found)) }
            isLongForm = true
            return nextRequest()
        }
        var (last, impossible): (UInt16, UInt16) = (0, 0)
        for entry in try answer.response(to: ATTFindByTypeValueRequest.self).entries {
            guard walk.contains(entry.handle) else { continue }
            guard entry.handle <= entry.groupEndHandle else {
                // A group that ends before it begins hides nothing that lies after it.
                impossible = max(impossible, entry.handle)
                continue
            }
            last = min(entry.groupEndHandle, walk.end)
            // A service that an earlier answer had out of order advances the search too.
            guard handles.insert(entry.handle).inserted else { continue }
            found.append(GATTService(uuid: uuid, handle: entry.handle, endHandle: last))
        }
        return walk.advance(past: last > 0 ? last : impossible) ? nextRequest() : .finished(GATTDatabase.inOrder(found))
    }

    private func nextRequest() -> GATTStep<[GATTService]> {
        let value = isLongForm ? uuid.littleEndianOctets128 : uuid.attOctets
        return .send(
            ATTFindByTypeValueRequest(startHandle: walk.start, endHandle: walk.end, type: 0x2800, value: value[...])
        )
    }
}
