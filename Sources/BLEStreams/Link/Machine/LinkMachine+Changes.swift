import BLEProtocol

/// What becomes of subscriptions when the peer's services change.
extension LinkMachine {
    /// Has Service Changed indicated; what it says goes to the tracker.
    mutating func subscribe(toServiceChanged characteristic: Characteristic, _ output: inout Output) {
        let handle = characteristic.valueHandle
        if let former = serviceChanged?.handle {
            table.forget(former)
            routes[former]?.isOwn = false
            if routes[former]?.isEmpty == true { routes[former] = nil }
        }
        serviceChanged = (handle, true)
        routes[handle, default: Route()].isOwn = true
        let write = table.add(
            Self.own,
            valueHandle: handle,
            descriptorHandle: characteristic.clientConfiguration?.handle,
            .indicate
        )
        let early = early.take(handle, now: now)
        if let write { carryOut(write, nil, &output) }
        if !early.isEmpty { servicesChanged(early, &output) }
    }

    /// The peer has indicated Service Changed.
    mutating func servicesChanged(_ values: [CharacteristicValue], _ output: inout Output) {
        for value in values { take(tracker.serviceChanged(ClosedRange(serviceChanged: value)), &output) }
    }

    /// Nothing is delivered of these handles before it is known what they mean.
    mutating func shut(_ range: ClosedRange<UInt16>) {
        if let handle = serviceChanged?.handle, range.contains(handle) { serviceChanged?.isFresh = false }
        for (id, entry) in subscriptions where entry.isWithin(range) {
            if entry.held != nil {
                subscriptions[id]?.held?.isInDoubt = true
                continue
            }
            subscriptions[id]?.held = HeldValues(isInDoubt: true)
            guard let handle = entry.characteristic?.valueHandle,
                routes[handle]?.open.contains(entry.consumer) == true
            else { continue }
            routes[handle]?.open.removeAll { $0 == entry.consumer }
            routes[handle]?.held.append(id)
        }
    }

    /// It is known what the peer offers: goes on where it was, or with the new handles; what is not there any more ends.
    mutating func take(_ known: DatabaseTracker.Known, _ output: inout Output) {
        switch known.news {
        case .first:
            if unclaimed.isDue { switchOffUnclaimed(&output) }
            return
        case .unchanged:
            for id in subscriptions.keys.sorted() { settleDoubt(id, isSame: true, &output) }
        case .changed(let before, let affected):
            let moving = subscriptions.filter { $0.value.isWithin(affected) }.sorted { $0.key < $1.key }
            for (_, entry) in moving { entry.characteristic.map { table.forget($0.valueHandle) } }
            forgetUnclaimed()
            renewServiceChanged(affected, known.database, &output)
            for (id, entry) in moving { move(id, entry, from: before, to: known.database, &output) }
            output.add { $0.changed = known.database }
        }
        for write in table.resume() { carryOut(write, nil, &output) }
        if unclaimed.isDue { switchOffUnclaimed(&output) }
    }

    /// What waited is the consumer's, or may be somebody else's and is lost.
    private mutating func settleDoubt(_ id: Subscription.ID, isSame: Bool, _ output: inout Output) {
        guard let held = subscriptions[id]?.held, held.isInDoubt else { return }
        subscriptions[id]?.held?.isInDoubt = false
        if !isSame {
            subscriptions[id]?.held?.values = []
            subscriptions[id]?.held?.lost += held.values.count
        }
        handOver(id, &output)
    }

    private mutating func move(
        _ id: Subscription.ID,
        _ entry: Subscription,
        from before: GATTDatabase,
        to database: GATTDatabase,
        _ output: inout Output
    ) {
        guard let former = entry.characteristic else { return }
        removeRoute(id, entry.consumer, former.valueHandle)
        let isSame = before.means(former.valueHandle, theSameAs: database)
        let found: Characteristic? =
            switch entry.selector {
            case .uuid(let uuid, let service): database.characteristic(uuid, in: service)
            case .handle, .exactly: isSame ? database.characteristic(valueHandle: former.valueHandle) : nil
            }
        guard let found else { return fail([id], .servicesChanged, &output) }
        settleDoubt(id, isSame: isSame && found.valueHandle == former.valueHandle, &output)
        arm(id, found, nil, &output)
    }

    /// The peer has said that its own service may have changed, and it has not: subscribed to it is nobody any more.
    private mutating func renewServiceChanged(
        _ affected: ClosedRange<UInt16>,
        _ database: GATTDatabase,
        _ output: inout Output
    ) {
        guard let (handle, isFresh) = serviceChanged, affected.contains(handle), !isFresh,
            let characteristic = database.serviceChanged
        else { return }
        subscribe(toServiceChanged: characteristic, &output)
    }

    /// What became of the services can't be found out.
    mutating func failSubscriptions(_ failure: GATTFailure, _ output: inout Output) {
        let unsure = subscriptions.filter { $0.value.held?.isInDoubt ?? false }.map(\.key).sorted()
        fail(unsure, .procedure(failure), &output)
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
