/// Finds what a peer offers: all of it, or the primary services of given UUIDs.
///
/// ```
/// services ─► included services ─► secondary services, if one is included ─► characteristics ─► descriptors
/// ```
/// For all services, each list is requested once over the whole database: fewer requests than service by service. What
/// can't be listed because the peer has it wrong is left out; an error fails the discovery if nothing would be found
/// without it, or if the caller can do something about it.
package struct DiscoverDatabase: GATTProcedure {
    /// The wanted services; `nil`: all.
    package let uuids: [BluetoothUUID]?

    private enum Phase: Sendable { case services, servicesByUUID, included, secondary, characteristics, descriptors }

    private var phase: Phase
    private var serviceSearch = DiscoverServices()
    private var serviceSearchByUUID: DiscoverServicesByUUID
    private var includedSearch = DiscoverIncludedServices(in: HandleWalk.allHandles)
    private var characteristicSearch = DiscoverCharacteristics(in: HandleWalk.allHandles)
    private var descriptorSearch = DiscoverDescriptors(in: [])

    /// The UUIDs, and the ranges of handles, that the phase has not searched yet.
    private var wanted: ArraySlice<BluetoothUUID>
    private var ranges: ArraySlice<ClosedRange<UInt16>> = []

    private var services: [GATTService] = []
    private var included: [GATTService.Inclusion] = []
    private var characteristics: [Characteristic] = []
    private var database = GATTDatabase()

    /// Finds all services, or the primary services with these UUIDs.
    package init(services uuids: [BluetoothUUID]? = nil) {
        self.uuids = uuids
        phase = uuids == nil ? .services : .servicesByUUID
        wanted = uuids.map { $0[...] } ?? []
        // Without a UUID this search never runs.
        serviceSearchByUUID = DiscoverServicesByUUID(wanted.popFirst() ?? AttributeType.primaryService)
    }

    package mutating func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<GATTDatabase> {
        if let uuids, uuids.isEmpty { return .finished(database) }
        return try step(nil, context)
    }

    package mutating func received(_ answer: GATTAnswer, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try step(answer, context)
    }

    private mutating func step(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        switch phase {
        case .services: try findServices(answer, context)
        case .servicesByUUID: try findServicesByUUID(answer, context)
        case .included: try findIncluded(answer, context)
        case .secondary: try findSecondaryServices(answer, context)
        case .characteristics: try findCharacteristics(answer, context)
        case .descriptors: try findDescriptors(answer, context)
        }
    }
}

// MARK: - Phases: each one runs its search, and starts the next phase at its end

extension DiscoverDatabase {
    private mutating func findServices(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try serviceSearch.step(answer, context).then { found throws(GATTFailure) in
            services = found
            // Secondary services may lie anywhere, and may include others too.
            ranges = found.isEmpty ? [] : [HandleWalk.allHandles]
            return try nextIncluded(context)
        }
    }

    private mutating func findServicesByUUID(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try serviceSearchByUUID.step(answer, context).then { found throws(GATTFailure) in
            services += found
            if let next = wanted.popFirst() {
                serviceSearchByUUID = DiscoverServicesByUUID(next)
                return try findServicesByUUID(nil, context)
            }
            services = GATTDatabase.inOrder(services)
            ranges = Self.contents(of: services)
            return try nextIncluded(context)
        }
    }

    private mutating func findIncluded(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try includedSearch.step(answer, context).then { found throws(GATTFailure) in
            included += found
            return try nextIncluded(context)
        }
    }

    private mutating func nextIncluded(_ context: GATTContext) throws(GATTFailure) -> GATTStep<GATTDatabase> {
        phase = .included
        if let range = ranges.popFirst() {
            includedSearch = DiscoverIncludedServices(in: range)
            return try findIncluded(nil, context)
        }
        guard uuids == nil else {
            ranges = Self.contents(of: services)
            return try nextCharacteristics(context)
        }
        let known = Set(services.map(\.handle))
        guard included.contains(where: { !known.contains($0.startHandle) }) else {
            return try findAllCharacteristics(context)
        }
        phase = .secondary
        serviceSearch = DiscoverServices(isPrimary: false)
        return try findSecondaryServices(nil, context)
    }

    private mutating func findSecondaryServices(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try serviceSearch.step(answer, context).then { found throws(GATTFailure) in
            services += found
            return try findAllCharacteristics(context)
        }
    }

    private mutating func findAllCharacteristics(_ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        let first = services.map(\.handle).min() ?? 1
        let last = services.map(\.endHandle).max() ?? 1
        ranges = first < last ? [first...last] : []
        return try nextCharacteristics(context)
    }

    private mutating func nextCharacteristics(_ context: GATTContext) throws(GATTFailure) -> GATTStep<GATTDatabase> {
        phase = .characteristics
        if let range = ranges.popFirst() {
            characteristicSearch = DiscoverCharacteristics(in: range)
            return try findCharacteristics(nil, context)
        }
        database = GATTDatabase(services: services, included: included, characteristics: characteristics)
        phase = .descriptors
        descriptorSearch = DiscoverDescriptors(in: database.descriptorRanges)
        return try findDescriptors(nil, context)
    }

    private mutating func findCharacteristics(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try characteristicSearch.step(answer, context).then { found throws(GATTFailure) in
            characteristics += found
            return try nextCharacteristics(context)
        }
    }

    private mutating func findDescriptors(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<GATTDatabase>
    {
        try descriptorSearch.step(answer, context).then { found throws(GATTFailure) in
            database.add(found)
            return .finished(database)
        }
    }

    /// The handles after the declarations of services, without services that have none.
    private static func contents(of services: [GATTService]) -> ArraySlice<ClosedRange<UInt16>> {
        ArraySlice(services.filter { $0.handle < $0.endHandle }.map { $0.handle + 1...$0.endHandle })
    }
}

// MARK: - Running one procedure within another

extension GATTProcedure {
    /// The first step without an answer, otherwise the next one.
    fileprivate mutating func step(_ answer: GATTAnswer?, _ context: GATTContext) throws(GATTFailure)
        -> GATTStep<Success>
    {
        if let answer { return try received(answer, context) }
        return try start(context)
    }
}

extension GATTStep {
    /// Passes a request on, or continues with the success.
    fileprivate func then<Next>(
        _ next: (Success) throws(GATTFailure) -> GATTStep<Next>
    ) throws(GATTFailure) -> GATTStep<Next> {
        switch self {
        case .request(let request): .request(request)
        case .command(let pdu): .command(pdu)
        case .finished(let value): try next(value)
        }
    }
}
