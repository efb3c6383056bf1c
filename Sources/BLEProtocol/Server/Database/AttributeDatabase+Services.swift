/// Builds the attributes of described services.
extension AttributeDatabase {
    /// Lays out services, with handles from 1 on in the order of the description.
    ///
    /// Within a service its includes come first, then each characteristic with its value, the Characteristic Extended
    /// Properties and the Client Characteristic Configuration where it needs them, and its other descriptors.
    ///
    /// - Precondition: ``fault(in:)`` finds nothing.
    package init(services: [LocalService]) {
        if let fault = Self.fault(in: services) { preconditionFailure(fault) }
        self.init(attributes: [], characteristics: [])
        place(ServicePlacement.inOrder(services))
    }

    /// Lays out services, each at its assigned place; existing ones keep their values, also at other places.
    private mutating func place(_ placements: [ServicePlacement], keeping kept: Set<ServicePlacement> = []) {
        var layout = ServiceLayout(placements)
        for placement in placements where !kept.contains(placement) { layout.add(placement) }
        let ranges = kept.map(\.range)
        let values = movedValues(to: placements, keeping: kept)
        set(
            attributes.filter { old in ranges.contains { $0.contains(old.handle) } } + layout.attributes,
            characteristics.filter { old in ranges.contains { $0.contains(old.valueHandle) } } + layout.characteristics
        )
        for (handle, value) in values { store(value, at: handle) }
        self.placements = placements
        lastHandle = placements.reduce(lastHandle) { max($0, Int($1.end)) }
    }

    /// The stored values of the services that are described as before and don't keep their places, by new handle.
    private func movedValues(
        to next: [ServicePlacement],
        keeping kept: Set<ServicePlacement>
    ) -> [(handle: UInt16, value: [UInt8])] {
        var old = placements.filter { !kept.contains($0) }
        var values: [(handle: UInt16, value: [UInt8])] = []
        for new in next where !kept.contains(new) {
            guard let index = old.firstIndex(where: { $0.service == new.service }) else { continue }
            let former = old.remove(at: index)
            for attribute in attributes(from: former.start, through: former.end) {
                guard case .stored(let value) = attribute.content else { continue }
                values.append((new.start + (attribute.handle - former.start), value))
            }
        }
        return values
    }

    /// Replaces the services from now on, and notes the change for the clients.
    ///
    /// A service with the same description as before keeps its handles and its values, and a client keeps its
    /// subscription to it. A new one is placed after all earlier ones, also those that were removed long ago, so that a
    /// handle that a client still holds refers to nothing rather than to something else; only if the handles run out
    /// are all services laid out again, each described as before with its values. One that was removed and returns is
    /// new: at its former handles a client that has missed its removal would take its subscription for valid.
    ///
    /// - Precondition: ``fault(in:)`` finds nothing.
    /// - Returns: whether anything has changed.
    @discardableResult
    package mutating func replaceServices(_ services: [LocalService]) -> Bool {
        if let fault = Self.fault(in: services) { preconditionFailure(fault) }
        let before = Set(placements)
        let found = places(for: services)
        let next = found ?? ServicePlacement.inOrder(services)
        let kept = keptPlaces(of: next)
        let removed = before.subtracting(kept).map(\.range)
        let added = next.filter { !kept.contains($0) }.map(\.range)
        guard !removed.isEmpty || !added.isEmpty else {
            // The order of the descriptions is not visible to clients.
            placements = next
            return false
        }
        // Handles that were used are given again from now on.
        if found == nil { lastHandle = 0 }
        place(next, keeping: kept)
        history.append(DatabaseChange(removed: removed, added: added))
        return true
    }

    /// A place for each service: its old one if it has one, otherwise one after all that there were; `nil` if the
    /// handles have run out.
    private func places(for services: [LocalService]) -> [ServicePlacement]? {
        var old = placements
        var next = lastHandle + 1
        var result: [ServicePlacement] = []
        for service in services {
            if let index = old.firstIndex(where: { $0.service == service }) {
                result.append(old.remove(at: index))
                continue
            }
            guard next + service.attributeCount - 1 <= 0xFFFF else { return nil }
            result.append(ServicePlacement(service: service, start: UInt16(next)))
            next += service.attributeCount
        }
        return result
    }

    /// The places where nothing changes: the service existed before, and so did all services that it includes.
    private func keptPlaces(of next: [ServicePlacement]) -> Set<ServicePlacement> {
        func target(_ id: String, _ places: [ServicePlacement]) -> ServicePlacement? {
            places.first { $0.service.id == id }
        }
        var kept = Set(placements).intersection(next)
        while let moved = kept.first(where: { place in
            place.service.includes.contains { target($0, placements)?.range != target($0, next)?.range }
        }) {
            kept.remove(moved)
        }
        return kept
    }
}
