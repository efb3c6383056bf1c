import BLEProtocol
import Synchronization

/// Who on a link is sent which characteristic's values, and how they stay right when the peer's services change.
final class LinkSubscriptions: Sendable {
    private struct Entry {
        let selector: CharacteristicSelector
        let prefersIndications: Bool
        var subscriber: LinkAttributes.Subscriber
        let gate: DeliveryGate
        let registered: @Sendable (Characteristic) -> Void
        /// In whose name it subscribes.
        let pass: Lane.Pass?
        /// The characteristic, once it is known.
        var characteristic: Characteristic?

        func isWithin(_ range: ClosedRange<UInt16>) -> Bool {
            characteristic.map { range.contains($0.valueHandle) } ?? false
        }
    }

    private struct State {
        var table = SubscriptionTable()
        var entries: SmallTable<Int, Entry> = [:]
        var nextID = 1
        /// Where Service Changed was subscribed to, and whether that was after the last change.
        var serviceChanged: (handle: UInt16, isFresh: Bool)?
        /// Subscribers that have left, and wait for the link to say so.
        var leaving = 0
        var whenQuiet: (@Sendable () -> Void)?
        var isClosing = false

        /// Takes what is to be called when nothing is under way, where nothing is.
        mutating func takeWhenQuiet() -> (@Sendable () -> Void)? {
            table.isBusy || leaving > 0 ? nil : whenQuiet.take()
        }
    }

    /// The subscriber of this link's own: it wants Service Changed.
    private static let own = 0

    private let peripheral: BluetoothAddress
    private let database: RemoteDatabase
    private let lane: Lane
    private let state = Mutex(State())
    private let bearerReference = Mutex<Bearer?>(nil)

    private var bearer: Bearer? { bearerReference.withLock { $0 } }

    init(peripheral: BluetoothAddress, database: RemoteDatabase, lane: Lane) {
        self.peripheral = peripheral
        self.database = database
        self.lane = lane
    }

    /// Called once, before anything else.
    func begin(on bearer: Bearer) { bearerReference.withLock { $0 = bearer } }

    // MARK: - Coming and going

    /// Notes a subscriber whose characteristic is still to be found; `nil` when the link is being closed.
    func add(
        _ selector: CharacteristicSelector,
        indications: Bool,
        pass: Lane.Pass?,
        _ subscriber: LinkAttributes.Subscriber,
        registered: @escaping @Sendable (Characteristic) -> Void
    ) -> Int? {
        let gate = DeliveryGate(forward: subscriber.deliver, lose: subscriber.lost)
        return state.withLock { state in
            guard !state.isClosing else { return nil }
            defer { state.nextID += 1 }
            state.entries[state.nextID] = Entry(
                selector: selector,
                prefersIndications: indications,
                subscriber: subscriber,
                gate: gate,
                registered: registered,
                pass: pass
            )
            return state.nextID
        }
    }

    /// Has the peer send a subscriber the values of a characteristic, where the subscriber is still wanted.
    ///
    /// - Parameter place: the place in the lane that is left when that is done; `nil` where the services have changed,
    ///   which waits for nobody.
    func arm(_ id: Int, _ characteristic: Characteristic, _ place: Lane.Entry? = nil) {
        let entry = state.withLock { state in
            state.entries[id]?.characteristic = characteristic
            return state.entries[id]
        }
        guard let bearer, let entry else {
            place?.leave()
            return
        }
        let properties = characteristic.properties
        let configuration: SubscriptionTable.Configuration
        switch (properties.contains(.notify), properties.contains(.indicate)) {
        case (true, let both): configuration = both && entry.prefersIndications ? .indicate : .notify
        case (false, true): configuration = .indicate
        case (false, false):
            fail([id]) { _ in .cannotSend(characteristic, of: self.peripheral) }
            place?.leave()
            return
        }
        let handle = characteristic.valueHandle
        bearer.addRoute(handle, Bearer.Route(id: id, deliver: entry.gate.deliver, lost: entry.subscriber.lost))
        let descriptor = characteristic.clientConfiguration?.handle
        let (isWanted, write) = state.withLock { state -> (Bool, SubscriptionTable.Write?) in
            guard state.entries[id] != nil else { return (false, nil) }
            return (true, state.table.add(id, valueHandle: handle, descriptorHandle: descriptor, configuration))
        }
        // It may have left between the two locks.
        guard isWanted else {
            bearer.removeRoute(handle, id: id)
            place?.leave()
            return
        }
        carryOut(write, place)
        if write == nil { tellArmed(handle) }
        entry.registered(characteristic)
        database.operationBegan()
    }

    func remove(_ id: Int) {
        let entry = state.withLock { state in
            let entry = state.entries.removeValue(forKey: id)
            if entry?.characteristic != nil { state.leaving += 1 }
            return entry
        }
        guard let entry, let handle = entry.characteristic?.valueHandle else { return }
        bearer?.removeRoute(handle, id: id)
        lane.enter(entry.pass) { place in
            let write = self.state.withLock { state in
                state.leaving -= 1
                return state.table.remove(id, valueHandle: handle)
            }
            self.carryOut(write, place)
        }
    }

    /// Does what the table asks for, and what it asks for then; when it asks for nothing more the place is left.
    private func carryOut(_ write: SubscriptionTable.Write?, _ place: Lane.Entry? = nil) {
        guard let write else { return settle(place) }
        let value = write.configuration.rawValue
        let octets = [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        bearer?.begin(WriteValue(handle: write.descriptorHandle, value: octets)) { outcome in
            switch outcome {
            case .failure(.databaseChanged):
                if self.postpone(write) { return self.settle(place) }
            case .failure(.attribute(.databaseOutOfSync, _)):
                if self.postpone(write) {
                    self.database.outOfSync { _ in }
                    return self.settle(place)
                }
            default: break
            }
            self.answered(write, outcome, place)
        }
    }

    /// Nothing more is to be done for now: lets others in, and tells who waits for the end.
    private func settle(_ place: Lane.Entry?) {
        place?.leave()
        state.withLock { $0.takeWhenQuiet() }?()
    }

    /// Whether a write is to be tried again when it is known what the handles mean.
    private func postpone(_ write: SubscriptionTable.Write) -> Bool {
        state.withLock { $0.table.postponed(write) }
    }

    private func answered(
        _ write: SubscriptionTable.Write,
        _ outcome: Result<any Sendable, GATTFailure>,
        _ place: Lane.Entry?
    ) {
        var succeeded = true
        if case .failure = outcome { succeeded = false }
        let (failed, next) = state.withLock { $0.table.written(write, succeeded: succeeded) }
        if case .failure(let failure) = outcome, !failed.isEmpty {
            fail(failed) { BLEError(failure, operation: "notifications", object: $0.object) }
        }
        if succeeded { tellArmed(write.valueHandle) }
        carryOut(next, place)
    }

    /// Tells the subscribers of a characteristic that their values are sent from now on; each once.
    private func tellArmed(_ valueHandle: UInt16) {
        let armed = state.withLock { state in
            state.entries.sorted { $0.key < $1.key }.compactMap { id, entry -> (@Sendable () -> Void)? in
                guard entry.characteristic?.valueHandle == valueHandle, entry.subscriber.armed != nil,
                    state.table.isArmed(id, valueHandle: valueHandle)
                else { return nil }
                return state.entries[id]?.subscriber.armed.take()
            }
        }
        for action in armed { action() }
    }

    func fail(_ ids: [Int], with error: (LinkAttributes.Subscriber) -> BLEError) {
        let failed = state.withLock { state in
            ids.compactMap { id in state.entries.removeValue(forKey: id).map { (id, $0) } }
        }
        for (id, entry) in failed {
            if let handle = entry.characteristic?.valueHandle { bearer?.removeRoute(handle, id: id) }
            entry.subscriber.finish(error(entry.subscriber))
        }
    }

    // MARK: - Services that change

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

    // MARK: - The end

    /// Ends all streams without an error, switches off what is on, and calls back when that is done.
    func unsubscribeAll(_ done: @escaping @Sendable () -> Void) {
        let all = state.withLock { state in
            state.isClosing = true
            return state.entries
        }
        for (id, entry) in all {
            entry.subscriber.finish(nil)
            remove(id)
        }
        let isQuiet = state.withLock { state in
            let isQuiet = !state.table.isBusy && state.leaving == 0
            if !isQuiet { state.whenQuiet = done }
            return isQuiet
        }
        if isQuiet { done() }
    }

    /// The bearer is over: every stream ends with the reason.
    func ended(_ reason: DisconnectReason) {
        let (subscribers, whenQuiet) = state.withLock { state in
            defer {
                state.entries = [:]
                state.table = SubscriptionTable()
                state.isClosing = true
            }
            return (state.entries.values.map(\.subscriber), state.whenQuiet.take())
        }
        for subscriber in subscribers {
            subscriber.finish(.linkEnded(reason, operation: "notifications", object: subscriber.object))
        }
        whenQuiet?()
        bearerReference.withLock { $0 = nil }
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
