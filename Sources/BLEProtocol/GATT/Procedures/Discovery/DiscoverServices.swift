/// Finds all primary services, or all secondary ones, without their content; or as many as one answer holds.
///
/// Source: Core Specification, Vol 3, Part G, 4.4.1.
package struct DiscoverServices: GATTProcedure {
    /// The declarations to find.
    package let isPrimary: Bool
    /// Whether it continues after the first answer.
    private let isWhole: Bool

    private var walk: HandleWalk
    private(set) var found: [GATTService] = []
    /// The handles found: bad devices list out of order, and no peer makes the list longer than the range.
    private var handles: Set<UInt16> = []

    package init(
        isPrimary: Bool = true,
        in range: ClosedRange<UInt16> = 0x0001...0xFFFF,
        isWhole: Bool = true
    ) {
        self.isPrimary = isPrimary
        self.isWhole = isWhole
        walk = HandleWalk(range)
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[GATTService]> { nextRequest() }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[GATTService]>
    {
        if let error = answer.error, endsList(error) {
            return .finished(GATTDatabase.inOrder(found))
        }
        var (last, impossible): (UInt16, UInt16) = (0, 0)
        for entry in try answer.response(to: ATTReadByGroupTypeRequest.self).entries {
            guard entry.value.count == 2 || entry.value.count == 16,
                let uuid = BluetoothUUID(littleEndian: entry.value)
            else { throw .malformedResponse(.impossibleEntry(in: .readByGroupTypeResponse)) }
            guard walk.contains(entry.handle) else { continue }
            guard entry.handle <= entry.groupEndHandle else {
                // A group that ends before it begins hides nothing that lies after it.
                impossible = max(impossible, entry.handle)
                continue
            }
            // Some devices end a group at FFFF whatever range was requested.
            last = min(entry.groupEndHandle, walk.end)
            // A service that an earlier answer had out of order advances the search too.
            guard handles.insert(entry.handle).inserted else { continue }
            found.append(GATTService(uuid: uuid, isPrimary: isPrimary, handle: entry.handle, endHandle: last))
        }
        guard walk.advance(past: last > 0 ? last : impossible), isWhole else {
            return .finished(GATTDatabase.inOrder(found))
        }
        return nextRequest()
    }

    /// Whether nothing is left to find. A peer that can list its primary services may be unable to list others.
    private func endsList(_ error: ATTError) -> Bool {
        isPrimary ? error.endsDiscovery || error == .unsupportedGroupType : error.endsOptionalList
    }

    private func nextRequest() -> GATTStep<[GATTService]> {
        let type = isPrimary ? AttributeType.primaryService : AttributeType.secondaryService
        return .send(ATTReadByGroupTypeRequest(startHandle: walk.start, endHandle: walk.end, groupType: type))
    }
}
