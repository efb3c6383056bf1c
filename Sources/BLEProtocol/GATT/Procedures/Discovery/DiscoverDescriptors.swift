/// Finds the descriptors within ranges of handles, each from a characteristic's value to its end.
///
/// One request may cover several ranges; what lies between them is skipped. With a large ATT_MTU, the descriptors of a
/// whole database come in a few answers; there are never more requests than one per range would need.
/// Source: Core Specification, Vol 3, Part G, 4.7.1.
package struct DiscoverDescriptors: GATTProcedure {
    private var ranges: ArraySlice<ClosedRange<UInt16>>
    private var walk: HandleWalk
    private var found: [Descriptor] = []

    /// The ranges must be ascending and must not overlap.
    package init(in ranges: [ClosedRange<UInt16>]) {
        self.ranges = ranges[...]
        let first = ranges.first?.lowerBound ?? 1
        walk = HandleWalk(first...max(first, ranges.last?.upperBound ?? 1))
    }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[Descriptor]> {
        ranges.isEmpty ? .finished([]) : nextRequest()
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[Descriptor]>
    {
        if let error = answer.error, error.endsOptionalList { return .finished(found) }
        let response = try answer.response(to: ATTFindInformationRequest.self)
        for entry in response.entries where walk.accepts(entry.handle) {
            moveRanges(to: entry.handle)
            guard let range = ranges.first, range.contains(entry.handle) else { continue }
            // A declaration can't follow a value: the device has its ranges wrong.
            if !AttributeType.isDeclaration(entry.type) {
                found.append(Descriptor(uuid: entry.type, handle: entry.handle))
            }
        }
        guard walk.advance(past: response.entries.last?.handle ?? 0) else { return .finished(found) }
        moveRanges(to: walk.start)
        guard let range = ranges.first else { return .finished(found) }
        walk.skip(to: range.lowerBound)
        return nextRequest()
    }

    private func nextRequest() -> GATTStep<[Descriptor]> {
        .send(ATTFindInformationRequest(startHandle: walk.start, endHandle: walk.end))
    }

    private mutating func moveRanges(to handle: UInt16) { ranges = ranges.drop { $0.upperBound < handle } }
}
