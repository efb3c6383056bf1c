import BLEProtocol

/// What is known of the peer's attributes on one link, and who subscribes to which of them.
final class LinkAttributes: Sendable {
    /// One consumer of a characteristic's values.
    struct Subscriber: Sendable {
        /// What is subscribed to, for errors: `of 2A37 of C4:F2:17:1A:1D:BB`.
        let object: String
        /// Takes values in order, as many as came at once.
        let deliver: @Sendable ([CharacteristicValue]) -> Void
        /// Hears of values that were dropped before they came here.
        let lost: @Sendable (Int) -> Void
        /// Ends the consumer's stream; without an error when this side closed the link.
        let finish: @Sendable (BLEError?) -> Void
        /// Called once, when the peer has confirmed that it sends the values.
        var armed: (@Sendable () -> Void)?
        /// Who answers where the link isn't secure enough for it; `nil`: it fails then.
        var answers: @Sendable () -> PairingAnswers? = { nil }
    }

    private let peripheral: BluetoothAddress
    private let remote: RemoteDatabase
    private let subscriptions: LinkSubscriptions
    private let lane: Lane
    private let demands: SecurityDemands
    private let watchers = ServiceWatchers()

    /// - Parameter record: what was kept of the peer.
    init(peripheral: BluetoothAddress, store: PeerStore, record: PeerRecord, lane: Lane, demands: SecurityDemands) {
        self.peripheral = peripheral
        self.lane = lane
        self.demands = demands
        remote = RemoteDatabase(memory: DatabaseMemory(store: store, peer: peripheral), record: record)
        subscriptions = LinkSubscriptions(peripheral: peripheral, database: remote, lane: lane)
    }

    /// Called once, before anything else; the bearer is held until it ends.
    func begin(on bearer: Bearer, _ raiser: SecurityRaiser) {
        let (subscriptions, watchers) = (subscriptions, watchers)
        subscriptions.begin(on: bearer, raiser)
        remote.begin(
            on: bearer,
            RemoteDatabase.Consequences(
                stale: { subscriptions.stale($0) },
                known: { known in
                    subscriptions.known(known)
                    if case .changed = known.news { watchers.tell(known.database) }
                },
                failed: { subscriptions.failed($0) },
                subscribe: { subscriptions.subscribe(toServiceChanged: $0) }
            )
        )
    }

    // MARK: - The database

    /// The database, where it may be used at once.
    var knownDatabase: GATTDatabase? { remote.current }

    /// What was discovered of chosen services; nothing once everything is known.
    var chosen: ChosenServices { remote.chosen }

    /// Takes note of what was discovered of chosen services.
    func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) { remote.add(found, of: uuids) }

    /// Whether the database in use was remembered from an earlier link.
    var isFromMemory: Bool { remote.isFromMemory }

    /// Whether something is to be remembered that was not known before this link.
    var hasChangedMemory: Bool { remote.hasChangedMemory }

    /// Discovers everything or finds what is remembered to be right, once for all who ask; later calls have it at once.
    func database(_ result: @escaping RemoteDatabase.Answer) { remote.whenKnown(result) }

    /// The peer has answered Database Out Of Sync: finds out what is different.
    func outOfSync(_ result: @escaping RemoteDatabase.Answer) { remote.outOfSync(result) }

    /// A request of the program was put in the bearer's queue.
    func operationBegan() { remote.operationBegan() }

    /// Forgets what is known, here and on the disk, so that the next call discovers afresh.
    func forgetDatabase() { remote.forget() }

    /// Tells of services that have changed, until the returned closure is called.
    func watch(_ watcher: ServiceWatchers.Watcher) -> @Sendable () -> Void { watchers.add(watcher) }

    /// Finds a characteristic without asking the peer; `nil` where that must be asked, or the link is to be more secure for it.
    ///
    /// - Throws: ``BLEError/Code/notFound`` or ``BLEError/Code/servicesChanged`` where everything is known.
    func knownCharacteristic(_ selector: CharacteristicSelector, operation: String) throws -> Characteristic? {
        let found =
            try knownDatabase.map { try Self.find(selector, in: $0, operation: operation, peripheral).get() }
            ?? chosenCharacteristic(selector)
        return found.flatMap { demands.missing(for: [$0.uuid]) == nil ? $0 : nil }
    }

    /// Whether a handle may be used at once: nothing is demanded of the link for that, or it is known to have it.
    func mayUse(_ handle: UInt16) -> Bool {
        if demands.areNone { return true }
        guard let database = knownDatabase else { return false }
        return database.characteristic(containing: handle).map { demands.missing(for: [$0.uuid]) == nil } ?? true
    }

    private func chosenCharacteristic(_ selector: CharacteristicSelector) -> Characteristic? {
        try? Self.find(selector, in: remote.chosen.database, operation: "", peripheral).get()
    }

    /// Finds a characteristic, after discovery where that is needed, and has the link as secure as is demanded for it.
    ///
    /// - Parameter answers: who answers where that takes a pairing.
    /// - Returns: has nobody wait for the link to be more secure; `nil` where nothing is demanded.
    @discardableResult
    func characteristic(
        _ selector: CharacteristicSelector,
        operation: String,
        answers: @escaping SecurityDemands.Answers,
        _ result: @escaping @Sendable (Result<Characteristic, BLEError>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard !demands.areNone else {
            find(selector, operation: operation, result)
            return nil
        }
        let (wish, object, demands) = (Ending<Void>(), "\(selector) of \(peripheral)", demands)
        find(selector, operation: operation) { found in
            guard case .success(let characteristic) = found else { return result(found) }
            demands.fulfil(
                for: [characteristic.uuid],
                operation: operation,
                object: object,
                answers: answers,
                until: wish
            ) {
                result($0.map { .failure($0) } ?? found)
            }
        }
        return { wish.end() }
    }

    /// Has the link as secure as is demanded for what a procedure reads or writes, after discovery where that is needed.
    ///
    /// - Returns: has nobody wait for it; `nil` where nothing is demanded.
    func secure(
        for procedure: some GATTProcedure,
        operation: String,
        object: @autoclosure () -> String,
        answers: @escaping SecurityDemands.Answers,
        _ result: @escaping @Sendable (BLEError?) -> Void
    ) -> (@Sendable () -> Void)? {
        guard !demands.areNone else {
            result(nil)
            return nil
        }
        let (wish, demands, object) = (Ending<Void>(), demands, object())
        let fulfil: @Sendable ([BluetoothUUID]) -> Void = { types in
            demands.fulfil(for: types, operation: operation, object: object, answers: answers, until: wish, result)
        }
        let handles = procedure.handles
        if handles.isEmpty {
            fulfil(procedure.attributeType.map { [$0] } ?? [])
            return { wish.end() }
        }
        database { outcome in
            switch outcome {
            case .failure(let failure): result(BLEError(failure, operation: operation, object: object))
            case .success(let database):
                fulfil(handles.compactMap { database.characteristic(containing: $0)?.uuid })
            }
        }
        return { wish.end() }
    }

    private func find(
        _ selector: CharacteristicSelector,
        operation: String,
        _ result: @escaping @Sendable (Result<Characteristic, BLEError>) -> Void
    ) {
        if knownDatabase == nil, let chosen = chosenCharacteristic(selector) { return result(.success(chosen)) }
        let peripheral = peripheral
        database { outcome in
            switch outcome {
            case .failure(let failure):
                result(.failure(BLEError(failure, operation: operation, object: "\(selector) of \(peripheral)")))
            case .success(let database):
                result(Self.find(selector, in: database, operation: operation, peripheral))
            }
        }
    }

    static func find(
        _ selector: CharacteristicSelector,
        in database: GATTDatabase,
        operation: String,
        _ peripheral: BluetoothAddress
    ) -> Result<Characteristic, BLEError> {
        let found =
            switch selector {
            case .uuid(let uuid, let service): database.characteristic(uuid, in: service)
            case .handle(let handle): database.characteristic(valueHandle: handle)
            case .exactly(let wanted):
                database.characteristic(valueHandle: wanted.valueHandle).flatMap { $0 == wanted ? $0 : nil }
            }
        if let found { return .success(found) }
        if case .exactly = selector { return .failure(.servicesChanged(operation, "\(selector) of \(peripheral)")) }
        return .failure(
            BLEError(
                .notFound,
                operation: operation,
                object: "\(selector) of \(peripheral)",
                cause: "the peripheral has no such characteristic",
                remedy: "List what it has with Link.discover()."
            )
        )
    }

    // MARK: - Subscriptions

    /// Subscribes to a characteristic; the subscriber is in place before the peer is asked to send.
    ///
    /// While somebody else holds the link this waits: nothing is asked of the peer, and nothing delivered.
    ///
    /// - Parameters:
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - pass: in whose name.
    ///   - registered: called when the wish is queued, with the characteristic: what is begun now follows it on air.
    ///     Once more when the services have changed and the subscription was made anew.
    /// - Returns: a closure that takes the subscription back.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool,
        pass: Lane.Pass? = nil,
        _ subscriber: Subscriber,
        registered: @escaping @Sendable (Characteristic) -> Void = { _ in }
    ) -> @Sendable () -> Void {
        if lane.wouldWaitForItself(with: pass) {
            subscriber.finish(.waitingForItself("notifications", subscriber.object))
            return {}
        }
        let subscriptions = subscriptions
        let id: Int
        do throws(BLEError) {
            id = try subscriptions.add(
                selector,
                indications: indications,
                pass: pass,
                subscriber,
                registered: registered
            )
        } catch {
            subscriber.finish(error)
            return {}
        }
        // Whether it was given up before the characteristic was known, and the link secure enough for it.
        let waiting = Ending<Bool>()
        let place = lane.enter(pass) { place in
            let leave = self.characteristic(selector, operation: "notifications", answers: subscriber.answers) {
                found in
                guard waiting.end(false) else { return place.leave() }
                switch found {
                case .failure(let error):
                    subscriptions.fail([id]) { _ in error }
                    place.leave()
                case .success(let characteristic): subscriptions.arm(id, characteristic, place)
                }
            }
            guard let leave else { return }
            waiting.whenEnded { isGivenUp in
                guard isGivenUp else { return }
                leave()
                place.leave()
            }
        }
        return {
            waiting.end(true)
            place.withdraw()
            subscriptions.remove(id)
        }
    }

    // MARK: - The end

    /// Ends all streams without an error, switches off what is on, and calls back when that is done.
    func unsubscribeAll(_ done: @escaping @Sendable () -> Void) {
        watchers.end(nil)
        subscriptions.unsubscribeAll(done)
    }

    /// The bearer is over: every stream ends with the reason.
    func ended(_ reason: DisconnectReason) {
        watchers.end(reason)
        subscriptions.ended(reason)
        remote.ended()
    }
}
