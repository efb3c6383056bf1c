import BLEProtocol

/// The effect of changed services on subscriptions.
extension LinkMachine {
    /// Subscribes to Service Changed; its indications go to the tracker.
    mutating func subscribe(toServiceChanged characteristic: Characteristic, _ output: inout Output) {
        let handle = characteristic.valueHandle
        leaveServiceChanged()
        refusedServiceChanged = nil
        serviceChanged = (handle, true)
        routes[handle, default: Route()].isOwn = true
        // What the program has subscribed to there is elsewhere now, and has a descriptor of its own.
        if subscriptions.values.contains(where: { $0.isDisplaced(by: characteristic) }) { table.forget(handle) }
        let write = table.add(
            Self.own,
            valueHandle: handle,
            descriptorHandle: characteristic.clientConfiguration?.handle,
            .indicate
        )
        let early = early.take(handle, now: now)
        if let write { carryOut(write, nil, &output) }
        // What was told includes the early values, and is kept for longer.
        if handle == rememberedChange, let told = toldChange.take() {
            servicesChanged(in: told, &output)
        } else if !early.isEmpty {
            servicesChanged(early, &output)
        }
    }

    /// The link may have been raised: subscribes to Service Changed again, if the peer has refused that before.
    mutating func subscribeToRefusedServiceChanged(_ output: inout Output) {
        guard let former = refusedServiceChanged, former != rises,
            let characteristic = tracker.current?.serviceChanged
        else { return }
        subscribe(toServiceChanged: characteristic, &output)
    }

    /// Takes no more indications of Service Changed at the handle where that was.
    private mutating func leaveServiceChanged() {
        guard let former = serviceChanged?.handle else { return }
        // Where the link has only listened, the entry is the program's.
        if table.hasSubscriber(Self.own, valueHandle: former) { table.forget(former) }
        routes[former]?.isOwn = false
        if routes[former]?.isEmpty == true { routes[former] = nil }
        serviceChanged = nil
    }

    /// The peer has indicated Service Changed.
    mutating func servicesChanged(_ values: [CharacteristicValue], _ output: inout Output) {
        for value in values { servicesChanged(in: ClosedRange(serviceChanged: value), &output) }
    }

    /// These handles may mean something else: subscriptions that are in doubt have everything discovered.
    mutating func servicesChanged(in range: ClosedRange<UInt16>, _ output: inout Output) {
        take(tracker.serviceChanged(range), &output)
        if isAnythingUnsure { take(tracker.want(), &output) }
    }

    /// Withholds values of these handles until their meaning is known.
    mutating func shut(_ range: ClosedRange<UInt16>) {
        if let handle = serviceChanged?.handle, range.contains(handle) { serviceChanged?.isFresh = false }
        table.doubt(range)
        for (id, entry) in subscriptions where entry.isWithin(range) {
            hold(id, entry)
            subscriptions[id]?.held?.isInDoubt = true
        }
    }

    /// The services are known: subscriptions continue, possibly with new handles; those of missing characteristics end.
    mutating func take(_ known: DatabaseTracker.Known, _ output: inout Output) {
        defer { lastKnown = known.database }
        // A peer without Service Changed may have given its handle to another characteristic.
        if let handle = serviceChanged?.handle, let found = known.database.characteristic(valueHandle: handle),
            found.uuid != BluetoothUUID.Characteristics.serviceChanged
        {
            leaveServiceChanged()
        }
        switch known.news {
        case .first:
            resumeUnsure(in: known.database, &output)
            // The tracker has lost what it knew: the services were forgotten, or could not be discovered.
            if let lastKnown, lastKnown != known.database { output.add { $0.changed = known.database } }
        case .unchanged:
            for (id, entry) in subscriptions.sorted(by: { $0.key < $1.key }) {
                settleDoubt(id, isSame: true, &output)
                guard let found = entry.characteristic, let held = entry.held, held.isInDoubt,
                    held.losses.contains(where: \.isWithheld)
                else { continue }
                output.tell(.registered(entry.consumer, found))
            }
        case .changed(let before, let affected):
            // Those of replaced characteristics too: some peers tell fewer handles than have changed.
            let moving = subscriptions.filter { $0.value.isWithin(affected) || $0.value.isReplaced(in: known.database) }
                .sorted { $0.key < $1.key }
            for (id, entry) in moving { entry.characteristic.map { table.forget($0.valueHandle, of: id) } }
            forgetLeft(in: affected, unlessSame: before, known.database)
            forgetUnclaimed()
            renewServiceChanged(affected, known.database, &output)
            for (id, entry) in moving {
                guard let handle = entry.characteristic?.valueHandle else { continue }
                let isSame = before.means(handle, theSameAs: known.database)
                move(id, entry, isSame: isSame, to: entry.find(in: known.database, isSame: isSame), &output)
            }
            output.add { $0.changed = known.database }
        }
        resume(&output)
        // The link may have been raised while they were unknown.
        subscribeToRefusedServiceChanged(&output)
        if unclaimed.isDue { switchOffUnclaimed(&output) }
        if tracker.mustSettle, serviceChanged == nil { listenForChanges(in: known.database, &output) }
    }

    /// Takes indications of Service Changed in a remembered database. It is subscribed to behind the program's first
    /// request, but a bonded peer has kept the subscription of an earlier link, and may have told of a change already.
    private mutating func listenForChanges(in database: GATTDatabase, _ output: inout Output) {
        guard let handle = database.serviceChanged?.valueHandle else { return }
        serviceChanged = (handle, false)
        routes[handle, default: Route()].isOwn = true
        // The values are for nobody else; what they have told was kept.
        _ = early.take(handle, now: now)
        if let told = toldChange.take() { servicesChanged(in: told, &output) }
    }

    /// The peer has indicated Service Changed where it was on the last link, and nobody listens there yet: that has to
    /// wait until the services are used.
    mutating func keepChanges(_ values: [CharacteristicValue], _ output: inout Output) {
        take(tracker.willChange(), &output)
        for value in values {
            let range = ClosedRange<UInt16>(serviceChanged: value)
            toldChange = toldChange?.union(range) ?? range
        }
    }

    /// Withheld values belong to the consumer, or possibly to another characteristic, and are then lost.
    private mutating func settleDoubt(_ id: Subscription.ID, isSame: Bool, _ output: inout Output) {
        guard let held = subscriptions[id]?.held, held.isInDoubt else { return }
        subscriptions[id]?.held?.isInDoubt = false
        if !isSame { subscriptions[id]?.held?.giveUp() }
        handOver(id, &output)
    }

    /// All services are known for the first time on this link, or since they were forgotten: there are none to compare
    /// them with. A subscription to a chosen service, or from before they were forgotten, may have come into doubt, or
    /// its handle may have been given to something else without a word of the peer.
    private mutating func resumeUnsure(in database: GATTDatabase, _ output: inout Output) {
        let (handles, moving) = sharing(subscriptions.values.filter { isUnsure($0) || !$0.isInPlace(in: database) })
        // The link's own subscription was made in this database.
        for handle in handles where handle != serviceChanged?.handle { table.forget(handle) }
        // Nobody wants these any more, and their descriptors may be something else now.
        forgetPostponed()
        for (id, entry) in moving.sorted(by: { $0.key < $1.key }) {
            let isSame = entry.isInPlace(in: database)
            move(id, entry, isSame: isSame, to: isSame ? entry.characteristic : entry.find(in: database), &output)
        }
    }

    /// The handles of these subscriptions, and all subscriptions of those handles, which share what the peer was
    /// configured to.
    private func sharing(
        _ unsure: [Subscription]
    ) -> (handles: Set<UInt16>, all: [(key: Subscription.ID, value: Subscription)]) {
        let handles = Set(unsure.compactMap { $0.characteristic?.valueHandle })
        let all = subscriptions.filter { entry in
            entry.value.characteristic.map { handles.contains($0.valueHandle) } ?? false
        }
        return (handles, all)
    }

    /// Whether it is unknown where a subscription's characteristic is: its values wait for that, or its configuration.
    func isUnsure(_ entry: Subscription) -> Bool {
        guard let handle = entry.characteristic?.valueHandle else { return false }
        return entry.held?.isInDoubt ?? false || table.isPostponed(handle)
    }

    /// Whether a subscription waits for the services to be known, or one that its subscriber has left.
    var isAnythingUnsure: Bool {
        subscriptions.values.contains { isUnsure($0) } || !postponedHandles.isEmpty
    }

    /// The handles of subscriptions that wait for the services to be known, except that of the link itself.
    private var postponedHandles: [UInt16] { table.postponedHandles.filter { $0 != serviceChanged?.handle } }

    /// Forgets the subscriptions that wait for the services to be known, except that of the link itself.
    private mutating func forgetPostponed() {
        for handle in postponedHandles { table.forget(handle) }
    }

    /// Forgets what subscribers that have left switch off when their turn comes, where something else is now: the write
    /// would reach that. Values that the peer still sends are switched off as such that nobody wants.
    private mutating func forgetLeft(
        in affected: ClosedRange<UInt16>,
        unlessSame before: GATTDatabase,
        _ database: GATTDatabase
    ) {
        for handle in postponedHandles where affected.contains(handle) {
            if !before.means(handle, theSameAs: database) { table.forget(handle) }
        }
        // Some peers tell fewer handles than have changed.
        for handle in table.handlesInUse where !affected.contains(handle) && handle != serviceChanged?.handle {
            let former = before.characteristic(valueHandle: handle)?.uuid
            if former != database.characteristic(valueHandle: handle)?.uuid { table.forget(handle) }
        }
    }

    private mutating func move(
        _ id: Subscription.ID,
        _ entry: Subscription,
        isSame: Bool,
        to found: Characteristic?,
        _ output: inout Output
    ) {
        guard let former = entry.characteristic else { return }
        removeRoute(id, entry.consumer, former.valueHandle)
        guard let found else { return fail([id], .servicesChanged, &output) }
        let stays = isSame && found.valueHandle == former.valueHandle
        settleDoubt(id, isSame: stays, &output)
        moves += stays ? 0 : 1
        if !stays { output.tell(.moved(entry.consumer)) }
        arm(id, found, nil, &output)
    }

    /// The service of Service Changed may have changed, but has not: its subscription is void.
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

    /// The services could not be discovered again.
    mutating func failSubscriptions(_ failure: GATTFailure, _ output: inout Output) {
        let failing = sharing(subscriptions.values.filter { isUnsure($0) }).all
        // Whoever subscribes next has the peer configured anew: with the change it may have lost that.
        forgetPostponed()
        fail(failing.map(\.key).sorted(), .procedure(failure), &output)
    }
}

extension LinkMachine.Subscription {
    /// Whether its characteristic is unchanged, at the same handle and in a service that was asked for; also as long as
    /// it has none.
    fileprivate func isInPlace(in database: GATTDatabase) -> Bool {
        guard let characteristic else { return true }
        guard let service = database.service(containing: characteristic.valueHandle),
            service.characteristics.contains(characteristic)
        else { return false }
        if case .uuid(_, service: let wanted?) = selector { return service.uuid == wanted }
        return true
    }

    /// Whether something else is where its characteristic was, or nothing.
    fileprivate func isReplaced(in database: GATTDatabase) -> Bool {
        guard let characteristic else { return false }
        return database.characteristic(valueHandle: characteristic.valueHandle)?.uuid != characteristic.uuid
    }

    /// Whether another characteristic is known to be where its own was.
    fileprivate func isDisplaced(by other: Characteristic) -> Bool {
        guard let characteristic else { return false }
        return characteristic.valueHandle == other.valueHandle && characteristic.uuid != other.uuid
    }

    /// Its characteristic in a database that has changed; `nil`: it is gone.
    ///
    /// - Parameter isSame: whether its handle means what it meant.
    fileprivate func find(in database: GATTDatabase, isSame: Bool = false) -> Characteristic? {
        switch selector {
        case .uuid(let uuid, let service): database.characteristic(uuid, in: service)
        case .handle, .exactly, .id:
            isSame ? characteristic.flatMap { database.characteristic(valueHandle: $0.valueHandle) } : nil
        }
    }
}

extension ClosedRange<UInt16> {
    /// The handles in an indication of Service Changed; all handles if it is malformed.
    fileprivate init(serviceChanged value: CharacteristicValue) {
        self = 0x0001...0xFFFF
        guard value.count == 4 else { return }
        let (first, last) = (UInt16(value[0]) | UInt16(value[1]) << 8, UInt16(value[2]) | UInt16(value[3]) << 8)
        if first > 0, first <= last { self = first...last }
    }
}
