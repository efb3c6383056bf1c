import BLEProtocol
import BLERadio
import Synchronization

/// Brings about what the ``DatabaseTracker`` of one link asks for, and tells who waits.
final class RemoteDatabase: Sendable {
    typealias Answer = @Sendable (Result<GATTDatabase, GATTFailure>) -> Void

    /// What the rest of the link does about the database.
    struct Consequences: Sendable {
        /// These handles must not be used any more, before ``known`` tells what became of them.
        var stale: @Sendable (ClosedRange<UInt16>) -> Void
        /// The database may be used; called before anybody who waits is answered.
        var known: @Sendable (DatabaseTracker.Known) -> Void
        /// It can't be found out again.
        var failed: @Sendable (GATTFailure) -> Void
        /// Service Changed is to be indicated.
        var subscribe: @Sendable (Characteristic) -> Void
    }

    private struct State {
        var tracker: DatabaseTracker
        var waiting: [Answer] = []
        /// The searches that are under way, by the tracker's number.
        var procedures: SmallTable<Int, Bearer.ProcedureID> = [:]
        /// The waits that are under way, by the tracker's number.
        var waits: [Int: RadioActivity] = [:]
        var hasChangedMemory = false
        /// What was discovered of chosen services, while nothing else is known.
        var chosen = ChosenServices()
    }

    private let memory: DatabaseMemory
    private let state: Mutex<State>
    /// The tracker's, for each operation to look at without the lock.
    private let mustSettle = Atomic(false)
    private let bearer = Mutex<(bearer: Bearer, consequences: Consequences)?>(nil)

    /// - Parameter record: what was kept of the peer, read before there was a link.
    init(memory: DatabaseMemory, record: PeerRecord) {
        self.memory = memory
        state = Mutex(State(tracker: DatabaseTracker(remembered: memory.recall(record))))
    }

    /// Called once, before anything else.
    func begin(on bearer: Bearer, _ consequences: Consequences) {
        self.bearer.withLock { $0 = (bearer, consequences) }
    }

    /// The bearer is over; its closures must not hold it any longer.
    func ended() {
        bearer.withLock { $0 = nil }
        let waits = state.withLock { state in
            defer { state.waits = [:] }
            return state.waits.values
        }
        for wait in waits { wait.cancel() }
    }

    /// The database, where it may be used at once.
    var current: GATTDatabase? { state.withLock { $0.tracker.current } }

    /// Whether the database in use was remembered from an earlier link.
    var isFromMemory: Bool { state.withLock { $0.tracker.isFromMemory } }

    /// Whether something is to be remembered that was not known before this link.
    var hasChangedMemory: Bool { state.withLock { $0.hasChangedMemory } }

    /// What was discovered of chosen services; nothing once everything is known.
    var chosen: ChosenServices { state.withLock { $0.chosen } }

    /// Takes note of what was discovered of chosen services.
    func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) {
        state.withLock { state in
            if state.tracker.current == nil { state.chosen.add(found, of: uuids) }
        }
    }

    /// Finds out what the peer offers, once for all who ask; at once where it is known.
    func whenKnown(_ answer: @escaping Answer) {
        let known = state.withLock { state in
            if state.tracker.current == nil { state.waiting.append(answer) }
            return state.tracker.current
        }
        if let known { return answer(.success(known)) }
        change { $0.want() }
    }

    /// The peer has answered Database Out Of Sync: looks what is different, then answers.
    func outOfSync(_ answer: @escaping Answer) {
        state.withLock { $0.chosen = ChosenServices() }
        change { $0.outOfSync() }
        whenKnown(answer)
    }

    /// A request of the program was put in the bearer's queue.
    func operationBegan() {
        guard mustSettle.load(ordering: .acquiring) else { return }
        change { $0.operationBegan() }
    }

    /// The peer has indicated Service Changed.
    func serviceChanged(_ range: ClosedRange<UInt16>) { change { $0.serviceChanged(range) } }

    /// Forgets what is known, here and for later links: whoever asks next has it discovered.
    func forget() { change { $0.forget() } }

    // MARK: - Carrying out

    private func change(_ step: (inout DatabaseTracker) -> DatabaseTracker.Output) {
        let output = state.withLock { state in
            defer { mustSettle.store(state.tracker.mustSettle, ordering: .releasing) }
            let output = step(&state.tracker)
            // They are a part of what is known now, or may mean something else.
            if output.known != nil || output.stale != nil || output.memory == .forget {
                state.chosen = ChosenServices()
            }
            return output
        }
        guard output != DatabaseTracker.Output() else { return }
        carryOut(output)
    }

    private func carryOut(_ output: DatabaseTracker.Output) {
        if let memory = output.memory {
            self.memory.take(memory)
            state.withLock { $0.hasChangedMemory = true }
        }
        guard let (bearer, consequences) = bearer.withLock({ $0 }) else {
            return answer(.failure(.disconnected(DisconnectReason(.other))))
        }
        if let stale = output.stale {
            consequences.stale(stale)
            bearer.invalidate(stale)
        }
        let withdrawn = state.withLock { state in
            output.withdrawn.compactMap { state.procedures.removeValue(forKey: $0) }
        }
        for id in withdrawn { bearer.cancel(id) }
        let waits = state.withLock { state in output.withdrawn.compactMap { state.waits.removeValue(forKey: $0) } }
        for wait in waits { wait.cancel() }
        for request in output.requests { make(request, bearer, consequences) }
        if let known = output.known {
            consequences.known(known)
            answer(.success(known.database))
        } else if let failure = output.failure {
            consequences.failed(failure)
            answer(.failure(failure))
        }
    }

    private func make(_ request: DatabaseTracker.Request, _ bearer: Bearer, _ consequences: Consequences) {
        switch request.kind {
        case .subscribe(let characteristic): consequences.subscribe(characteristic)
        case .enableFeatures(let handle):
            bearer.begin(WriteValue(handle: handle, value: [DatabaseTracker.features.rawValue])) { _ in }
        case .discover:
            let id = bearer.begin(DiscoverDatabase()) { outcome in
                self.finished(request.number)
                self.change { tracker in
                    tracker.discovered(
                        request.number,
                        outcome.flatMap { ($0 as? GATTDatabase).map(Result.success) ?? .failure(.cancelled) }
                    )
                }
            }
            began(request.number, id)
        case .readHash:
            let id = bearer.begin(ReadByUUID(AttributeType.databaseHash, limit: 1)) { outcome in
                self.finished(request.number)
                self.change { tracker in tracker.hashRead(request.number, Self.hash(in: outcome)) }
            }
            began(request.number, id)
        case .wait(let duration):
            let wait = bearer.timeline.schedule(after: duration) { [weak self] in self?.waited(request.number) }
            state.withLock { $0.waits[request.number] = wait }
        }
    }

    private func waited(_ number: Int) {
        _ = state.withLock { $0.waits.removeValue(forKey: number) }
        change { $0.waited(number) }
    }

    private func began(_ number: Int, _ id: Bearer.ProcedureID) {
        state.withLock { $0.procedures[number] = id }
    }

    private func finished(_ number: Int) {
        state.withLock { $0.procedures[number] = nil }
    }

    /// Any answer but a hash of the right length means that there is none to go by.
    private static func hash(in outcome: Result<any Sendable, GATTFailure>) -> Result<[UInt8]?, GATTFailure> {
        switch outcome {
        case .success(let values):
            let value = (values as? [ReadByUUID.Value])?.first?.value
            return .success(value.flatMap { $0.count == 16 ? $0 : nil })
        case .failure(.attribute), .failure(.malformedResponse): return .success(nil)
        case .failure(let failure): return .failure(failure)
        }
    }

    private func answer(_ result: Result<GATTDatabase, GATTFailure>) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for answer in waiting { answer(result) }
    }
}

/// Where what a peer offers is kept between links: only for peers whose address tells who they are.
struct DatabaseMemory: Sendable {
    let store: PeerStore
    let peer: BluetoothAddress

    private var isIdentity: Bool { peer.subkind == .public || peer.subkind == .randomStatic }

    func recall(_ record: PeerRecord) -> RememberedDatabase? {
        isIdentity ? record.services?.remembered : nil
    }

    func take(_ memory: DatabaseTracker.Memory) {
        guard isIdentity else { return }
        switch memory {
        case .forget: store.update(peer) { $0.services = nil }
        case .store(let remembered):
            let record = ServicesRecord(remembered)
            store.update(peer) { $0.services = record }
        }
    }
}
