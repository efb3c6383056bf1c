import BLEProtocol
import Synchronization

/// Who on a link is sent which characteristic's values, and how they stay right when the peer's services change.
final class LinkSubscriptions: Sendable {
    struct Entry {
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

    struct State {
        var table = SubscriptionTable()
        var entries: SmallTable<Int, Entry> = [:]
        var nextID = 1
        /// Where Service Changed was subscribed to, and whether that was after the last change.
        var serviceChanged: (handle: UInt16, isFresh: Bool)?
        /// Subscribers that have left, and wait for the link to say so.
        var leaving = 0
        var whenQuiet: (@Sendable () -> Void)?
        /// Makes the link more secure.
        var raiser: SecurityRaiser?
        /// Writes that wait for that, by their numbers.
        var raises: [Int: Raise] = [:]
        /// Why nobody can subscribe any more: the link is over, or is being closed by this side.
        var end: DisconnectReason?

        /// Takes what is to be called when nothing is under way, where nothing is.
        mutating func takeWhenQuiet() -> (@Sendable () -> Void)? {
            table.isBusy || leaving > 0 ? nil : whenQuiet.take()
        }
    }

    /// The subscriber of this link's own: it wants Service Changed.
    static let own = 0

    private let peripheral: BluetoothAddress
    let database: RemoteDatabase
    private let lane: Lane
    let state = Mutex(State())
    private let bearerReference = Mutex<Bearer?>(nil)

    var bearer: Bearer? { bearerReference.withLock { $0 } }

    init(peripheral: BluetoothAddress, database: RemoteDatabase, lane: Lane) {
        self.peripheral = peripheral
        self.database = database
        self.lane = lane
    }

    /// Called once, before anything else.
    func begin(on bearer: Bearer, _ raiser: SecurityRaiser) {
        bearerReference.withLock { $0 = bearer }
        state.withLock { $0.raiser = raiser }
    }

    // MARK: - Coming and going

    /// Notes a subscriber whose characteristic is still to be found.
    ///
    /// - Throws: where the link is over, or is being closed.
    func add(
        _ selector: CharacteristicSelector,
        indications: Bool,
        pass: Lane.Pass?,
        _ subscriber: LinkAttributes.Subscriber,
        registered: @escaping @Sendable (Characteristic) -> Void
    ) throws(BLEError) -> Int {
        let gate = DeliveryGate(forward: subscriber.deliver, lose: subscriber.lost)
        let added: Result<Int, BLEError> = state.withLock { state in
            if let end = state.end {
                return .failure(.linkEnded(end, operation: "notifications", object: subscriber.object))
            }
            defer { state.nextID += 1 }
            state.entries[state.nextID] = Entry(
                selector: selector,
                prefersIndications: indications,
                subscriber: subscriber,
                gate: gate,
                registered: registered,
                pass: pass
            )
            return .success(state.nextID)
        }
        return try added.get()
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
        giveUpRaises()
        lane.enter(entry.pass) { place in
            let write = self.state.withLock { state in
                state.leaving -= 1
                return state.table.remove(id, valueHandle: handle)
            }
            self.carryOut(write, place)
        }
    }

    /// Does what the table asks for, and what it asks for then; when it asks for nothing more the place is left.
    ///
    /// - Parameter hasRaised: whether the link was made more secure for it.
    func carryOut(_ write: SubscriptionTable.Write?, _ place: Lane.Entry? = nil, hasRaised: Bool = false) {
        guard let write else { return settle(place) }
        let rises = state.withLock { $0.raiser }?.rises
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
            case .failure(let failure):
                if let refused = failure.refused {
                    return self.refused(write, failure, refused, place, since: rises, hasRaised)
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

    /// - Parameter error: why the link could not be made secure enough, where that is why it failed.
    func answered(
        _ write: SubscriptionTable.Write,
        _ outcome: Result<any Sendable, GATTFailure>,
        _ place: Lane.Entry?,
        because error: BLEError? = nil
    ) {
        var succeeded = true
        if case .failure = outcome { succeeded = false }
        let (failed, next) = state.withLock { $0.table.written(write, succeeded: succeeded) }
        if case .failure(let failure) = outcome, !failed.isEmpty {
            let security = bearer?.radioLink.security ?? .none
            fail(failed) { subscriber in
                let refusal = BLEError(
                    failure,
                    operation: "notifications",
                    object: subscriber.object,
                    security: security
                )
                return error.map { refusal.notRaised($0) } ?? refusal
            }
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

    // MARK: - The end

    /// Ends all streams without an error, switches off what is on, and calls back when that is done.
    func unsubscribeAll(_ done: @escaping @Sendable () -> Void) {
        let all = state.withLock { state in
            if state.end == nil { state.end = DisconnectReason(.closedLocally) }
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
                state.raiser = nil
                state.raises = [:]
                state.end = reason
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
