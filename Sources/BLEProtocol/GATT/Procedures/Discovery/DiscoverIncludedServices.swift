/// Finds the references to other services within a range.
///
/// A reference has no room for a 128-bit UUID: that is read from the declaration of the service it refers to. An
/// incorrect reference is left out.
/// Source: Core Specification, Vol 3, Part G, 4.5.1.
package struct DiscoverIncludedServices: GATTProcedure {
    private var walk: HandleWalk
    private var found: [GATTService.Inclusion] = []
    /// References whose UUID has not been read yet, the first one first.
    private var unresolved: ArraySlice<ATTReadByTypeResponse.Entry> = []
    /// Whether to request more references when the UUIDs have been read.
    private var isWalking = true

    package init(in range: ClosedRange<UInt16>) { walk = HandleWalk(range) }

    package func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<[GATTService.Inclusion]> {
        nextRequest()
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<[GATTService.Inclusion]>
    {
        if let reference = unresolved.popFirst() {
            try resolve(reference, answer)
            return nextRequest()
        }
        if let error = answer.error, error.endsOptionalList { return finish() }
        let entries = try answer.response(to: ATTReadByTypeRequest.self).entries
        for entry in entries where walk.accepts(entry.handle) {
            switch entry.value.count {
            case 4: unresolved.append(entry)
            case 6: append(entry, BluetoothUUID(littleEndian: entry.value.suffix(2)))
            // An entry of an impossible length is left out, like a reference that can't be read.
            default: break
            }
        }
        isWalking = walk.advance(past: entries.last?.handle ?? 0)
        return nextRequest()
    }

    private func nextRequest() -> GATTStep<[GATTService.Inclusion]> {
        if let reference = unresolved.first {
            var range = ByteReader(reference.value)
            return .send(ATTReadRequest(handle: range.uint16() ?? 0))
        }
        guard isWalking else { return finish() }
        let type = AttributeType.include
        return .send(ATTReadByTypeRequest(startHandle: walk.start, endHandle: walk.end, type: type))
    }

    private func finish() -> GATTStep<[GATTService.Inclusion]> { .finished(found.sorted { $0.handle < $1.handle }) }

    /// If a declaration can't be read, or is not one, its reference is left out; the discovery continues.
    private mutating func resolve(_ reference: ATTReadByTypeResponse.Entry, _ answer: GATTAnswer) throws(GATTFailure) {
        if let error = answer.error {
            if !error.endsOptionalList { try answer.success() }
            return
        }
        let value = try answer.response(to: ATTReadRequest.self).value
        if value.count == 2 || value.count == 16 { append(reference, BluetoothUUID(littleEndian: value)) }
    }

    private mutating func append(_ reference: ATTReadByTypeResponse.Entry, _ uuid: BluetoothUUID?) {
        var range = ByteReader(reference.value)
        guard let uuid, let start = range.uint16(), let end = range.uint16(), 0 < start, start <= end else { return }
        found.append(GATTService.Inclusion(uuid: uuid, handle: reference.handle, startHandle: start, endHandle: end))
    }
}
