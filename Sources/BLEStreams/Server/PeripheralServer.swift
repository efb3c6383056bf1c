import BLEProtocol
package import BLERadio
import Synchronization

/// What the radio does for a peripheral, from one start to the next.
private struct Round {
    var activities: [RadioActivity] = []
    /// Whether all of it has started.
    var isUnderWay = false
    /// The error that ended a part of it.
    var failure: BLEError?
}

extension [RadioActivity] {
    fileprivate mutating func takeAll() -> [RadioActivity] {
        defer { self = [] }
        return self
    }
}

/// A running ``LocalPeripheral``: its connected centrals, their requests, and the values sent to them.
public final class PeripheralServer: Sendable {
    private struct State {
        /// The characteristics that are no longer offered, as many as a central may still write to; the last one last.
        var former: ArraySlice<DatabaseCharacteristic> = []
        var centrals: [Int: ConnectedCentral] = [:]
        var watchers = Observers<Watcher>()
        var nextID = 0
        /// What the radio does for it now.
        var round = Round()
        var isStopped = false
        var failure: BLEError?
        var whenEmpty: (@Sendable () -> Void)?

        func formerly(at handle: UInt16) -> DatabaseCharacteristic? { former.last { $0.valueHandle == handle } }
    }

    let database: SharedDatabase
    let radio: any Radio
    /// The radio's clock.
    package var timeline: any Timeline { radio.timeline }
    let errands: Errands
    let warnings: ServerWarnings
    let visits: PairingVisits
    let (given, iterated) = (GivenBonds(), IteratedMessages())
    let calls: ClosureCalls
    let answering: ServedClosures
    let serving: ServingWatch
    let backlogBoard: BacklogBoard
    let advertised: ServedAdvertisement
    private let description: LocalPeripheral
    let served: ServedCentrals
    var name: String { description.name }
    /// When to serve it again after an interruption; `nil`: never.
    var resuming: RetryPolicy? { description.resuming }
    var isBeacon: Bool { description.isBeacon }
    private let contents = Mutex(State())

    init(
        _ description: LocalPeripheral,
        radio: any Radio,
        store: PeerStore,
        warning: @escaping PeerStore.Warning
    ) throws {
        let services = try description.allServices(description.services, operation: "serve")
        database = SharedDatabase(AttributeDatabase(services: services.withoutClosures))
        advertised = ServedAdvertisement(description.declaration)
        answering = ServedClosures(of: services)
        var described = description
        (described.services, described.pairing) = (description.services.withoutClosures, nil)
        self.description = described
        self.radio = radio
        errands = Errands()
        warnings = ServerWarnings(warning, errands)
        visits = PairingVisits(description.pairing, on: radio.timeline)
        served = ServedCentrals(store: store)
        serving = ServingWatch()
        backlogBoard = BacklogBoard()
        calls = ClosureCalls(on: radio.timeline, lose: warnings.lostWrites)
    }

    /// The centrals that are connected now.
    public var centrals: [ConnectedCentral] {
        contents.withLock { $0.centrals.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// The error that ended the radio's part, if it has ended.
    var failure: BLEError? { contents.withLock { $0.failure } }

    /// Throws the error that ended the radio's part: nothing that is sent after that reaches a central.
    func checkIsServing(_ operation: String, _ name: CharacteristicSelector) throws {
        let (failure, isStopped) = contents.withLock { ($0.failure, $0.isStopped) }
        if let failure { throw failure }
        guard isStopped else { return }
        throw BLEError(
            .ended,
            operation: operation,
            object: "of \(name)",
            cause: "the peripheral is no longer served",
            remedy: "Use the server only within the closure of LocalPeripheral.run(on:store:warning:_:)."
        )
    }

    // MARK: - Start and end

    /// Listens, answers pairings, then advertises; returns when all of it has started. A beacon only advertises.
    ///
    /// - Throws: the radio's refusal, or the error that has ended a part meanwhile.
    func start() async throws {
        contents.withLock { $0.round = Round() }
        do {
            if !isBeacon {
                try await listen()
                try await restoreBonds()
                try await receivePairings()
            }
            try await advertise()
        } catch {
            endRound()
            throw error
        }
        let failure = contents.withLock { state in
            state.round.isUnderWay = true
            return state.round.failure
        }
        guard let failure else { return }
        endRound()
        throw failure
    }

    private func listen() async throws {
        try await begin { finish in
            self.radio.listen { [weak self] event in
                switch event {
                case .started: finish(.success(()))
                case .accepted(let link): self?.accept(link)
                case .interrupted(let error): self?.warnings.tell(.notAccepted(error.code)) { _ in error }
                case .failed(let error):
                    self?.fail(error)
                    finish(.failure(error))
                }
            }
        }
    }

    func begin(
        _ start: (@escaping @Sendable (Result<Void, any Error>) -> Void) -> RadioActivity
    ) async throws {
        try await reply(on: radio.timeline) { finish in
            let activity = start(finish)
            self.keep(activity)
            return { activity.cancel() }
        }
    }

    /// Keeps an activity until the end of this round.
    func keep(_ activity: RadioActivity) {
        let isStopped = contents.withLock { state in
            if !state.isStopped { state.round.activities.append(activity) }
            return state.isStopped
        }
        if isStopped { activity.cancel() }
    }

    /// Ends what the radio still does for it; links stay up.
    private func endRound() {
        let activities = contents.withLock { $0.round.activities.takeAll() }
        advertised.ended()
        for activity in activities.reversed() { activity.cancel() }
        visits.areReceived = false
        visits.endAll()
    }

    /// Ends advertising and listening, drops all links, and waits until they are down, within a time limit.
    func stop() async {
        let (activities, watchers) = contents.withLock { state in
            state.isStopped = true
            return (state.round.activities.takeAll(), state.watchers.removeAll())
        }
        advertised.finish()
        for activity in activities.reversed() { activity.cancel() }
        visits.endAll()
        for watcher in watchers { watcher.finish(nil) }
        serving.finish(nil)
        backlogBoard.finish(nil)
        guard !centrals.isEmpty else { return }
        await undisturbedReply(on: radio.timeline, limit: (.seconds(5), ())) { finish in
            let isEmpty = contents.withLock { state in
                state.whenEmpty = { finish(()) }
                return state.centrals.isEmpty
            }
            for central in centrals { central.bearer.close(DisconnectReason(.closedLocally)) }
            if isEmpty { finish(()) }
            return {}
        }
    }

    /// A part of what the radio does has ended.
    func fail(_ error: BLEError) {
        guard resuming != nil, !error.isFinal else { return giveUp(error) }
        let isFirst = contents.withLock { state in
            defer { if state.round.failure == nil { state.round.failure = error } }
            return state.round.failure == nil && state.round.isUnderWay && !state.isStopped
        }
        guard isFirst else { return }
        endRound()
        serving.interrupted(error)
    }

    /// Ends everything with an error.
    func giveUp(_ error: BLEError) {
        let watchers = contents.withLock { state in
            if state.failure == nil { state.failure = error }
            return state.watchers.removeAll()
        }
        for watcher in watchers { watcher.finish(error) }
        serving.finish(error)
        backlogBoard.finish(error)
    }

    // MARK: - What is offered

    /// Replaces the services of the ``LocalPeripheral``.
    ///
    /// A service with an unchanged declaration keeps its values, and its handles and subscribers as long as there are
    /// unused handles for the new ones, which get none of another one. Centrals that have subscribed to Service Changed
    /// are informed; one with robust caching is answered Database Out Of Sync before it can use a handle that may be
    /// wrong. The advertisement stays as it is. Closures aren't compared: the new ones answer from now on.
    ///
    /// - Parameter services: all services except Generic Access and Generic Attribute, which are added automatically.
    /// - Returns: whether anything has changed.
    /// - Throws: ``BLEError/Code/invalidArgument`` if the services can't be laid out; nothing changes then.
    @discardableResult
    public func replaceServices(_ services: [LocalService]) throws -> Bool {
        let all = try description.allServices(services, operation: "replace services")
        let (isDifferent, former) = database.withLock { database in
            let before = database.characteristics
            let isDifferent = database.replaceServices(all.withoutClosures)
            return (isDifferent, before.filter { database.characteristic(at: $0.valueHandle) != $0 })
        }
        answering.replace(with: all)
        guard isDifferent else { return false }
        contents.withLock { state in
            state.former.append(contentsOf: former)
            state.former = state.former.suffix(1024)
        }
        for central in centrals { central.bearer.synchronize() }
        return true
    }

    /// The name of a characteristic; its handle if it has no name.
    func characteristic(at handle: UInt16) -> String { declared(at: handle)?.id ?? handle.hexadecimal }

    /// The characteristic with this value handle, also one that has been replaced; `nil` if there was none.
    func declared(at handle: UInt16) -> DatabaseCharacteristic? {
        database.withLock { $0.characteristic(at: handle) } ?? contents.withLock { $0.formerly(at: handle) }
    }

    /// Whether there is or was a characteristic with this value handle.
    func hasDeclared(_ handle: UInt16) -> Bool { declared(at: handle) != nil }

    /// The closures that answer for the characteristic with this value handle; `nil`: none.
    func closures(at handle: UInt16) -> ValueClosures? {
        database.withLock { $0.characteristic(at: handle)?.id }.flatMap { answering[$0] }
    }

    // MARK: - Centrals

    private func accept(_ link: any ATTLink) {
        let id = contents.withLock { state in
            defer { state.nextID += 1 }
            return state.isStopped ? nil : state.nextID
        }
        guard let id else { return link.disconnect() }
        // The end of its former link may not be known yet: the new one goes on with what was configured there.
        for former in centrals where former.identity == link.peer { keep(former) }
        served.read(link.peer, at: link.local, on: radio.timeline) { self.admit(link, id, $0) }
    }

    /// Begins to serve a central once its kept state is known; nothing was read from the link before.
    func admit(_ link: any ATTLink, _ id: Int, _ kept: ServedCentrals.Kept) {
        let client = database.withLock { served.recall(kept.record, $0) }
        let central = ConnectedCentral(link: link, server: self, id: id, client: client, isBonded: kept.isBonded)
        central.begin(with: kept, of: self)
        let isStopped = contents.withLock { state in
            if !state.isStopped {
                central.retainUntilEnd()
                state.centrals[id] = central
            }
            return state.isStopped
        }
        if isStopped { return link.disconnect() }
        tell(.connected(central))
        central.bearer.start()
        central.resume()
    }

    func left(_ central: ConnectedCentral, id: Int, _ reason: DisconnectReason) {
        let whenEmpty = contents.withLock { state in
            state.centrals[id] = nil
            return state.centrals.isEmpty ? state.whenEmpty : nil
        }
        // On a newer link it may be pairing.
        if !centrals.contains(where: { $0.id > id && $0.address == central.address }) { visits.end(central.address) }
        calls.end(id)
        keep(central)
        tell(.disconnected(central, reason))
        whenEmpty?()
    }

    /// Stores what a central has configured, if it is bonded, and if no newer link to it has taken that over: it may
    /// have configured something else there.
    func keep(_ central: ConnectedCentral) {
        let (client, isEncrypted, anew) = central.served
        let identity = central.identity
        let newer = centrals.contains { $0.id > central.id && $0.identity == identity && $0.served.isEncrypted }
        if newer || central.isDisowned { return }
        let isEmpty = database.withLock { database in
            served.keep(
                client,
                of: identity,
                at: central.bearer.radioLink.local,
                isBonded: isEncrypted,
                hadStored: central.hadStored,
                anew: anew,
                database
            )
        }
        central.willKeep(isEmpty: isEmpty)
    }

    // MARK: - Watching

    /// All watchers, the oldest first.
    var allWatchers: [Watcher] { contents.withLock { $0.watchers.all } }

    /// Whether a watcher for that name, or for all, is told of what happens to a characteristic.
    func names(_ name: CharacteristicSelector?, _ handle: UInt16) -> Bool { name.names(declared(at: handle)) }

    /// Adds a watcher, unless the server has ended; returns the failure too, if there was one.
    func add(_ watcher: Watcher) -> (id: Int, isOver: Bool, failure: BLEError?) {
        contents.withLock { state in
            let isOver = state.isStopped || state.failure != nil
            return (isOver ? 0 : state.watchers.add(watcher), isOver, state.failure)
        }
    }

    func removeWatcher(_ id: Int) { _ = contents.withLock { $0.watchers.remove(id) } }
}
