import BLEProtocol
import BLERadio
import Synchronization

/// Does what a session's state requires, and reports the result to its machine. The ``ConnectionMachine`` decides what
/// follows, and ``SessionNews`` which trigger a failure is; there is no policy here.
final class SessionDriver: Sendable {
    let session: Session
    private let waker = Waker()
    /// News from outside, for the driver.
    private let news = Mutex(SessionNews())

    /// The watching of the present link's end. A closure that a lock holds directly is wrapped at each access.
    private struct Watch {
        var end: (@Sendable () -> Void)?
    }

    private let watch = Mutex(Watch())

    var core: CentralCore { session.core }
    var plan: Session.Plan { session.plan }

    /// By which the line for connection slots knows the session.
    private let slot: SlotLine.ID

    init(_ session: Session) {
        self.session = session
        slot = session.core.slots.newID()
    }

    /// Wakes the driver, to look for work.
    var wake: @Sendable () -> Void { { [waker] in waker.wake() } }

    // MARK: - The loop

    /// Drives until the task is cancelled; work in progress is then left as it is.
    func drive() async {
        let adapter = observeAdapter()
        session.channels.whenWished(wake)
        do {
            while true { try await step() }
        } catch {
            // Only cancellation leads here: everything else is a trigger.
        }
        session.channels.whenWished(nil)
        core.slots.leave(slot)
        watchEnd(of: nil)
        adapter.cancel()
    }

    private func observeAdapter() -> RadioActivity {
        if let joined = core.joined { return joined.observeMembers { [weak self] in self?.lookAtAdapters() } }
        return core.radio.observeAdapter { [weak self] info in
            self?.news.withLock { $0.adapter = info.state }
            self?.waker.wake()
        }
    }

    /// Of several adapters that are joined, those count that may connect to the peripheral. A session that would not
    /// wait for them fails with the attempt's error, which names them.
    private func lookAtAdapters() {
        guard let joined = core.joined else { return }
        let waits = plan.reconnecting != nil
        // Each adapter tells of itself on its own thread, and the last one to look counts.
        news.withLock { $0.adapter = joined.adapterState(for: waits ? session.peripheral?.address : nil) }
        waker.wake()
    }

    private func step() async throws {
        try Task.checkCancellation()
        switch session.state {
        case .disconnected(.initial):
            if session.board.isHeld {
                _ = try await until { self.session.board.isHeld ? nil : true }
            } else if let adapter = latest.unusableAdapter {
                offer(.adapterLost(adapter))
            } else {
                offer(session.mustSearch ? .scan : .connect)
            }
        case .disconnected(.scanning): try await search()
        // The program may connect by itself, too.
        case .disconnected(.discovered): offer(.connect)
        case .disconnected(.connecting): try await connect()
        case .disconnected(.waitingToReconnect(_, let resumption)): try await wait(for: resumption)
        case .connected:
            guard let link = session.link else { return handle(.linkLost(DisconnectReason(.other))) }
            try await use(link)
        case .failed:
            core.slots.leave(slot)
            _ = try await until { self.session.state.kind == .failed ? nil : true }
        }
    }

    /// Passes a trigger to the machine; the states in which this is called accept it.
    func handle(_ trigger: SessionState.Trigger) {
        do throws(SessionState.IllegalTrigger) { try session.handle(trigger) } catch { assertionFailure("\(error)") }
    }

    /// Passes a trigger to the machine, whose state the program may have changed meanwhile.
    func offer(_ trigger: SessionState.Trigger) { try? session.handle(trigger) }

    /// Disconnects cleanly: unsubscribes, waits for that, then drops the link.
    ///
    /// - Parameter forGood: whether streams end, and whoever waits for the session.
    func leave(forGood: Bool) async {
        let wasHeld = session.board.isHeld
        await session.lastLink?.close()
        switch session.state {
        case .failed: break
        case .disconnected(.initial) where forGood: break
        default: handle(.disconnect)
        }
        guard forGood else { return }
        // Unless the program has disconnected it, the next run begins by itself.
        if !wasHeld, !session.orders.isDisconnecting { session.board.release() }
        session.end()
    }

    // MARK: - Steps without a link

    private func search() async throws {
        let (filters, choice): ([ScanFilter], Session.SearchChoice) =
            switch plan.target {
            case .found(let filters, let choice): (filters, choice)
            case .addresses(let addresses): (addresses.map { .address($0) }, .first)
            }
        // If a filter's result may change, such as the signal strength, duplicates are needed.
        let mayChange = choice != .first || filters.contains(where: \.isAboutSignal)
        let heard = session.central.scan(for: filters + [.connectable], duplicates: mayChange ? .all : .ignored)
        do {
            let limited = plan.limits.search.map { heard.timeout($0, for: .firstValue) } ?? heard
            let found =
                switch choice {
                case .first: try await limited.first()
                case .strongest(let time): try await strongest(of: heard, afterFirstOf: limited, within: time)
                }
            session.found(found)
            handle(.discovered(found.address))
        } catch let error as BLEError {
            let isInVain = plan.limits.search.map { error.code == .timedOut && error.elapsed == $0 } ?? false
            handle(latest.trigger(for: error, or: isInVain ? .searchFailed(error) : .scanFailed(error)))
        }
    }

    /// The one with the strongest signal, of all heard for some time after the first one.
    private func strongest(
        of heard: BLEStream<Discovery>,
        afterFirstOf limited: BLEStream<Discovery>,
        within time: Duration
    ) async throws -> Discovery {
        var best = try await limited.first()
        let timeline = core.timeline
        let end = BLEStream<Void>(timeline: timeline) { feed in
            let timer = timeline.schedule(after: time) { feed.send(()) }
            return { timer.cancel() }
        }
        for try await discovery in heard.take(until: end) {
            if discovery.rssi ?? -128 > best.rssi ?? -128 { best = discovery }
        }
        return best
    }

    private func connect() async throws {
        guard let peripheral = session.peripheral else { return handle(.disconnect) }
        news.withLock { $0.linkEnd = nil }
        try await letOthersConnect(before: peripheral.address)
        do {
            let link = try await core.connector.connect(
                to: peripheral,
                // The session's machine decides what follows a failure.
                Connector.Wish(timeout: plan.limits.connect, persists: false, parameters: plan.parameters)
            )
            core.slots.leave(slot)
            session.linked(link)
            watchEnd(of: link)
            handle(.linkEstablished(mtu: link.mtu))
        } catch let error as BLEError {
            // Which adapters those are may have become known only by the attempt.
            lookAtAdapters()
            lineUp(for: peripheral.address, after: error)
            handle(latest.trigger(for: error, or: .connectFailed(error)))
        }
    }

    /// Waits while a slot that has become free is another session's, which has waited for it for longer.
    private func letOthersConnect(before peer: BluetoothAddress) async throws {
        let slots = core.slots
        slots.begin(slot, with: peer.rawValue, on: core.slotAdapters(for: peer), wake: wake)
        guard slots.isHeld(slot) else { return }
        try await until { slots.isHeld(slot) && latest.unusableAdapter == nil ? nil : () }
    }

    /// Has the session wait in line for a connection slot if that is why there is no link. A link that was never
    /// established costs nobody the place, nor does a peripheral that is out of range for a while.
    private func lineUp(for peer: BluetoothAddress, after error: BLEError) {
        let isRefusal = error.saysThatSlotsAreTaken(hasLinks: core.connector.hasLinks)
        if isRefusal || error.code == .timedOut && !core.slotRefusers(of: peer).isEmpty {
            core.slots.refused(slot, by: core.slotAdapters(for: peer))
        } else if error.code == .timedOut {
            core.slots.missed(slot)
        } else if error.reason?.kind != .failedToEstablish {
            core.slots.leave(slot)
        }
    }

    /// Has the end of a link told to the driver, and that of the former one no longer: others may keep that for months.
    private func watchEnd(of link: Link?) {
        let unwatch = link?.onEnd { [weak self, weak link] reason in
            // A link being closed reports that later, when there may be another one.
            guard let self, self.session.link === link else { return }
            self.news.withLock { $0.linkEnd = reason }
            self.waker.wake()
        }
        let former = watch.withLock { watch in
            defer { watch.end = unwatch }
            return watch.end
        }
        former?()
    }

    private func wait(for resumption: SessionState.Resumption) async throws {
        let trigger: SessionState.Trigger?
        switch resumption {
        case .delay(let delay):
            let (timeline, slots) = (core.timeline, core.slots)
            // Links that are never established are made again within a turn, but not without any pause.
            let hasTurn = slots.hasTurn(slot)
            let pause = hasTurn ? min(delay, SlotOrder.pause) : delay
            let end = timeline.now + pause
            let timer = timeline.schedule(after: pause, wake)
            defer { timer.cancel() }
            trigger = try await untilResumed {
                if let adapter = self.latest.unusableAdapter { return .adapterLost(adapter) }
                return timeline.now >= end || !hasTurn && slots.hasTurn(self.slot) ? .resume : nil
            }
        case .adapter(let state):
            core.slots.leave(slot)
            trigger = try await untilResumed { self.latest.trigger(forAdapterThatWas: state) }
            if case .adapterReturned? = trigger { try await pause(SessionNews.adapterRest) }
        }
        if let trigger {
            // Another program may have removed the bond, of which only the store knows.
            if session.dependsOnBond { try await core.renewIdentities() }
            offer(trigger)
        }
    }

    /// Waits until the closure returns an answer; `nil` if the program ends the wait.
    private func untilResumed(_ answer: () -> SessionState.Trigger?) async throws -> SessionState.Trigger? {
        try await until { () -> SessionState.Trigger?? in
            guard session.state.kind == .waitingToReconnect else { return .some(nil) }
            return answer().map { .some($0) }
        }
    }

    // MARK: - News

    /// The news so far.
    var latest: SessionNews { news.withLock { $0 } }

    /// Waits until the closure returns an answer; it is called again whenever there is news.
    func until<Answer>(_ answer: () -> Answer?) async throws -> Answer {
        while true {
            waker.listen()
            if let answer = answer() { return answer }
            try await waker.wait(isolation: #isolation)
        }
    }

    func pause(_ duration: Duration) async throws {
        let timeline = core.timeline
        try await reply(on: timeline) { finish in
            let timer = timeline.schedule(after: duration) { finish(.success(())) }
            return { timer.cancel() }
        }
    }
}
