import BLEProtocol
import Synchronization

/// What becomes of subscriptions when the peer's services change.
extension LinkSubscriptions {
    /// Has Service Changed indicated; what it says goes to the database.
    func subscribe(toServiceChanged characteristic: Characteristic) {
        let handle = characteristic.valueHandle
        let former = state.withLock { state in
            let former = state.serviceChanged?.handle
            if let former { state.table.forget(former) }
            state.serviceChanged = (handle, true)
            return former
        }
        if let former { bearer?.removeRoute(former, id: Self.own) }
        let database = database
        bearer?.addRoute(
            handle,
            Bearer.Route(
                id: Self.own,
                deliver: { for value in $0 { database.serviceChanged(ClosedRange(serviceChanged: value)) } },
                // One that is missing may have said anything.
                lost: { _ in database.serviceChanged(0x0001...0xFFFF) }
            )
        )
        let write = state.withLock { state in
            state.table.add(
                Self.own,
                valueHandle: handle,
                descriptorHandle: characteristic.clientConfiguration?.handle,
                .indicate
            )
        }
        if let write { carryOut(write) }
    }

    /// Nothing is delivered of these handles before it is known what they mean.
    func stale(_ range: ClosedRange<UInt16>) {
        let gates = state.withLock { state in
            if let handle = state.serviceChanged?.handle, range.contains(handle) {
                state.serviceChanged?.isFresh = false
            }
            return state.entries.values.filter { $0.isWithin(range) }.map(\.gate)
        }
        for gate in gates { gate.close() }
    }

    /// Goes on where it was, or with the new handles; what is not there any more ends.
    func known(_ known: DatabaseTracker.Known) {
        switch known.news {
        case .first: break
        case .unchanged:
            let (gates, writes) = state.withLock { state in
                (state.entries.values.map(\.gate), state.table.resume())
            }
            for gate in gates { gate.open(forwarding: true) }
            for write in writes { carryOut(write) }
        case .changed(let before, let affected):
            let moving = state.withLock { state in
                let moving = state.entries.filter { $0.value.isWithin(affected) }.sorted { $0.key < $1.key }
                for (_, entry) in moving { entry.characteristic.map { state.table.forget($0.valueHandle) } }
                return moving
            }
            renewServiceChanged(affected, known.database)
            for (id, entry) in moving { move(id, entry, from: before, to: known.database) }
            let writes = state.withLock { $0.table.resume() }
            for write in writes { carryOut(write) }
        }
    }

    private func move(_ id: Int, _ entry: Entry, from before: GATTDatabase, to database: GATTDatabase) {
        guard let former = entry.characteristic else { return }
        bearer?.removeRoute(former.valueHandle, id: id)
        let isSame = before.means(former.valueHandle, theSameAs: database)
        let found: Characteristic? =
            switch entry.selector {
            case .uuid(let uuid, let service): database.characteristic(uuid, in: service)
            case .handle, .exactly: isSame ? database.characteristic(valueHandle: former.valueHandle) : nil
            }
        guard let found else { return fail([id]) { .servicesChanged("notifications", $0.object) } }
        entry.gate.open(forwarding: isSame && found.valueHandle == former.valueHandle)
        arm(id, found)
    }

    /// The peer has said that its own service may have changed, and it has not: subscribed to it is nobody any more.
    private func renewServiceChanged(_ affected: ClosedRange<UInt16>, _ database: GATTDatabase) {
        guard let (handle, isFresh) = state.withLock({ $0.serviceChanged }), affected.contains(handle), !isFresh,
            let characteristic = database.serviceChanged
        else { return }
        subscribe(toServiceChanged: characteristic)
    }

    /// What became of the services can't be found out.
    func failed(_ failure: GATTFailure) {
        let unsure = state.withLock { state in state.entries.filter { $0.value.gate.isShut }.map(\.key).sorted() }
        fail(unsure) { BLEError(failure, operation: "notifications", object: $0.object) }
    }
}

extension ClosedRange<UInt16> {
    /// The handles that an indication of Service Changed tells; all of them where it makes no sense.
    fileprivate init(serviceChanged value: CharacteristicValue) {
        self = 0x0001...0xFFFF
        guard value.count == 4 else { return }
        let (first, last) = (UInt16(value[0]) | UInt16(value[1]) << 8, UInt16(value[2]) | UInt16(value[3]) << 8)
        if first > 0, first <= last { self = first...last }
    }
}
