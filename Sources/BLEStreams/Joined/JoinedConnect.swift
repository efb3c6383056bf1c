import BLEProtocol
import BLERadio
import Synchronization

/// One attempt to connect through the joined adapter that the chooser names; the only policy here is how long to wait
/// for each.
///
/// If none has received the peripheral recently, all of them listen first, for a moment. An adapter that waits in vain
/// leaves its turn to the next one, since the peripheral may have moved. One that is being switched off and on has no
/// turn meanwhile; if there is no other, the attempt waits for it.
final class JoinedConnect: Sendable {
    typealias AdapterID = AdapterChooser.AdapterID
    typealias Outcome = @Sendable (Result<any ATTLink, BLEError>) -> Void

    struct State {
        var result: Outcome?
        /// Counts the listening and the turns. Events of an earlier one are ignored.
        var turn = 0
        var adapter: AdapterID?
        var activities: [RadioActivity] = []
        var timer: RadioActivity?
        var began = Duration.zero
        /// The adapters that can't connect at all.
        var excluded: Set<AdapterID> = []
        /// Those of them that could not be used, and may be on again: the chooser knows whether they are.
        var off: Set<AdapterID> = []
        /// The adapters that had no free slot: the chooser knows for how long that counts.
        var full: Set<AdapterID> = []
        /// The adapters that are being switched off and on, or reset; whether the attempt waits for one of them.
        var paused: Set<AdapterID> = []
        var awaitsStep = false
        /// Ends the reports of such steps.
        var leaveSteps: [@Sendable () -> Void] = []
        /// The adapters that have had a turn in this round.
        var waited: Set<AdapterID> = []
        var rounds = 0
        var failure: BLEError?
        /// The state while all listen.
        var round = ListeningRound([])
    }

    /// How long each adapter waits if there are others, at first and later.
    private static let firstTurn = Duration.seconds(5)
    private static let laterTurn = Duration.seconds(12)
    /// A turn that was given up earlier says nothing about the adapter.
    private static let shortestTurn = Duration.seconds(2)

    let peer: BluetoothAddress
    private let parameters: ConnectionParameters?
    let radio: JoinedRadio
    let state: Mutex<State>

    init(
        to peer: BluetoothAddress,
        _ parameters: ConnectionParameters?,
        on radio: JoinedRadio,
        _ result: @escaping Outcome
    ) {
        self.peer = peer
        self.parameters = parameters
        self.radio = radio
        state = Mutex(State(result: result))
    }

    func begin() {
        followSteps()
        let listeners = radio.choose { chooser, now in
            chooser.begins(peer, at: now)
            return chooser.listeners(for: peer, at: now)
        }
        if listeners.isEmpty { next() } else { listen(listeners) }
    }

    /// No result is reported after this.
    func cancel() {
        guard let ended = end() else { return }
        noteVainTurn(ended.adapter, ended.began)
        withExtendedLifetime(ended.result) {}
    }

    // MARK: - Listening

    private func listen(_ listeners: [AdapterID]) {
        let turn = state.withLock { state in
            state.turn += 1
            state.round = ListeningRound(listeners)
            return state.turn
        }
        arm(turn, after: ListeningRound.starting) { $0.listened(turn) }
        let options = ScanBroker.Options(services: [], isActive: true, reportsDuplicates: false)
        for id in listeners {
            let scans = radio.member(id).scans
            let leave = scans.watch(
                ScanBroker.Watcher(
                    started: { self.advance(turn) { $0.listens(id) } },
                    heard: { _ in },
                    stopped: {}
                )
            )
            let stop = scans.add(
                options,
                take: { self.heard($0, by: id, turn) },
                lost: { _ in },
                // For example, without the permission to scan.
                fail: { _ in self.advance(turn) { $0.fails(id) } }
            )
            keep(
                RadioActivity {
                    leave()
                    stop()
                },
                turn
            )
        }
    }

    private func heard(_ reports: [AdvertisingReport], by id: AdapterID, _ turn: Int) {
        guard reports.contains(where: { $0.address.rawValue == peer.rawValue }) else { return }
        // Before the choice is made from what is known.
        radio.heard(reports, by: id)
        advance(turn) { $0.hears(id) }
    }

    private func advance(_ turn: Int, _ input: (inout ListeningRound) -> Duration?) {
        let delay: Duration? = state.withLock { state in
            state.turn == turn && state.result != nil ? input(&state.round) : nil
        }
        // Not in this call, in which a scan reports what it receives.
        if let delay { arm(turn, after: delay) { $0.listened(turn) } }
    }

    private func listened(_ turn: Int) {
        guard endTurn(turn) != nil else { return }
        next()
    }

    // MARK: - Trying

    func next() {
        let waited = state.withLock { state in
            state.awaitsStep = false
            return state.waited
        }
        guard let choice = bestAdapter(except: waited) ?? bestAdapter(except: []) else { return endWithoutChoice() }
        let now = radio.timeline.now
        let turn: (number: Int, isFirst: Bool)? = state.withLock { state in
            guard state.result != nil, !state.paused.contains(choice) else { return nil }
            if waited.contains(choice) {
                state.waited = []
                state.rounds += 1
            }
            state.waited.insert(choice)
            state.turn += 1
            (state.adapter, state.began) = (choice, now)
            return (state.turn, state.rounds == 0)
        }
        guard let turn else {
            // Unless the attempt is over, a step has begun on this adapter meanwhile.
            if state.withLock({ $0.result != nil }) { next() }
            return
        }
        arm(turn.number, after: turn.isFirst ? Self.firstTurn : Self.laterTurn) { $0.turnIsOver(turn.number) }
        let activity = radio.member(choice).radio.connect(to: peer, parameters: parameters) { outcome in
            self.handle(outcome, by: choice, turn.number)
        }
        keep(activity, turn.number)
    }

    /// The best of the adapters that can connect now and have a free slot, apart from some; `nil` if there is none.
    private func bestAdapter(except others: Set<AdapterID>) -> AdapterID? {
        let (excluded, full) = state.withLock { ($0.excluded.union($0.paused), $0.full) }
        return radio.choose { chooser, now in
            let unfit = excluded.union(full.filter { chooser.isFull($0, at: now) })
            return chooser.choice(for: peer, at: now, except: unfit.union(others))
        }
    }

    /// Waits for the end of a step if that may give the attempt an adapter; otherwise ends it.
    private func endWithoutChoice() {
        if awaitsStep() {
            let hasEnded = state.withLock { state in
                state.awaitsStep = !state.paused.isEmpty
                return state.paused.isEmpty
            }
            // In the meantime.
            if hasEnded { next() }
            return
        }
        // Not in this call, in which the attempt may only just begin.
        arm(state.withLock { $0.turn }, after: .zero) { $0.finish(.failure($0.whyNone())) }
    }

    /// Leaves the peripheral to another adapter, if there is one.
    private func turnIsOver(_ turn: Int) {
        let adapter = state.withLock { state in
            state.excluded.subtract(state.off)
            state.off = []
            return state.adapter
        }
        guard let adapter else { return }
        guard bestAdapter(except: [adapter]) != nil else {
            return arm(turn, after: Self.laterTurn) { $0.turnIsOver(turn) }
        }
        guard let began = endTurn(turn) else { return }
        noteVainTurn(adapter, began)
        next()
    }

    private func handle(_ outcome: Result<any ATTLink, BLEError>, by adapter: AdapterID, _ turn: Int) {
        switch outcome {
        case .success(let link):
            guard endTurn(turn) != nil else { return link.disconnect() }
            radio.linked(to: peer, by: adapter)
            let joined = JoinedLink(link, to: peer, by: adapter, on: radio)
            if !finish(.success(joined)) { joined.disconnect() }
        case .failure(let error):
            guard endTurn(turn) != nil else { return }
            failed(error, by: adapter)
        }
    }

    private func failed(_ error: BLEError, by adapter: AdapterID) {
        let hasLinks = radio.choose { chooser, _ in chooser.links(of: adapter) > 0 }
        if error.saysThatSlotsAreTaken(hasLinks: hasLinks) {
            radio.choose { chooser, now in chooser.refused(peer, by: adapter, at: now) }
            // This is the most useful of all reasons.
            state.withLock { state in
                state.full.insert(adapter)
                state.failure = error
            }
            next()
        } else if error.isAboutAdapter || error.isOfUnfitAdapter {
            state.withLock { state in
                state.excluded.insert(adapter)
                if error.isAboutAdapter { state.off.insert(adapter) }
                state.failure = state.failure ?? error
            }
            next()
        } else {
            radio.choose { chooser, now in chooser.failed(peer, by: adapter, at: now) }
            finish(.failure(error))
        }
    }

    /// The reason why there is no adapter to connect through.
    private func whyNone() -> BLEError {
        if let obstacle = radio.bondObstacle(to: peer) { return obstacle }
        let (failure, full) = state.withLock { ($0.failure, $0.full) }
        if let failure, !full.isEmpty {
            let isBonded = !radio.choose { chooser, _ in chooser.holders(of: peer) }.isEmpty
            return failure.ofFull(full.sorted().map { radio.name(of: $0) }, isBonded: isBonded)
        }
        if let failure { return failure }
        let info = radio.adapterInfo
        let none = BLEError.noneJoined(operation: "connect", object: "\(peer)")
        return info.state == .absent ? none : info.state.error(operation: "connect", object: "\(peer)") ?? none
    }

    // MARK: -

    private func noteVainTurn(_ adapter: AdapterID?, _ began: Duration) {
        guard let adapter, radio.timeline.now - began >= Self.shortestTurn else { return }
        radio.choose { chooser, now in chooser.waitedInVain(for: peer, by: adapter, at: now) }
    }

    /// Restarts the only timer.
    private func arm(_ turn: Int, after delay: Duration, _ action: @escaping @Sendable (JoinedConnect) -> Void) {
        let timer = radio.timeline.schedule(after: delay) { action(self) }
        let former = state.withLock { state -> RadioActivity? in
            guard state.turn == turn, state.result != nil else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        former?.cancel()
    }

    private func keep(_ activity: RadioActivity, _ turn: Int) {
        let isOutdated = state.withLock { state in
            guard state.turn == turn, state.result != nil else { return true }
            state.activities.append(activity)
            return false
        }
        if isOutdated { activity.cancel() }
    }

    /// Ends the turn in progress if it is this one; returns when it began.
    func endTurn(_ turn: Int) -> Duration? {
        let ended: State? = state.withLock { state in
            guard state.turn == turn, state.result != nil else { return nil }
            let ended = state
            state.turn += 1
            state.adapter = nil
            state.activities = []
            state.timer = nil
            return ended
        }
        ended?.timer?.cancel()
        for activity in ended?.activities ?? [] { activity.cancel() }
        return ended?.began
    }

    @discardableResult
    private func finish(_ outcome: Result<any ATTLink, BLEError>) -> Bool {
        guard let ended = end() else { return false }
        ended.result?(outcome)
        return true
    }

    /// Ends the attempt once; returns the former state if this call ended it.
    private func end() -> State? {
        let ended: State? = state.withLock { state in
            guard state.result != nil else { return nil }
            defer { state = State() }
            return state
        }
        guard let ended else { return nil }
        ended.timer?.cancel()
        for activity in ended.activities { activity.cancel() }
        for leave in ended.leaveSteps { leave() }
        radio.end(attemptTo: peer)
        return ended
    }
}
