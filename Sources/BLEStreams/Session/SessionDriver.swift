import BLEProtocol
import BLERadio
import Synchronization

/// Does what the state of a session asks for, and tells its machine what came of it; there is no policy here.
final class SessionDriver: Sendable {
    /// What arrived from outside, for the driver to find.
    private struct News {
        /// What the adapter is; `nil` before the radio has said it.
        var adapter: AdapterState?
        /// Why the present link ended.
        var linkEnd: DisconnectReason?
    }

    let session: Session
    private let waker = Waker()
    private let news = Mutex(News())

    var core: CentralCore { session.core }
    var plan: SessionPlan { session.plan }

    init(_ session: Session) { self.session = session }

    /// Makes the driver look again for what there is to do.
    var wake: @Sendable () -> Void { { [waker] in waker.wake() } }

    // MARK: - The loop

    /// Drives until the task is cancelled; what is under way then is left as it stands.
    func drive() async {
        let adapter = core.radio.observeAdapter { [weak self] info in
            self?.news.withLock { $0.adapter = info.state }
            self?.waker.wake()
        }
        session.channels.whenWished(wake)
        do {
            while true { try await step() }
        } catch {
            // Only cancellation leads here: whatever else happens is a trigger.
        }
        session.channels.whenWished(nil)
        adapter.cancel()
    }

    private func step() async throws {
        try Task.checkCancellation()
        switch session.state {
        case .disconnected(.initial):
            if session.board.isHeld {
                _ = try await until { self.session.board.isHeld ? nil : true }
            } else if let adapter = unusableAdapter {
                offer(.adapterLost(adapter))
            } else {
                offer(session.peripheral == nil ? .scan : .connect)
            }
        case .disconnected(.scanning): try await search()
        case .disconnected(.discovered): handle(.connect)
        case .disconnected(.connecting): try await connect()
        case .disconnected(.waitingToReconnect(_, let resumption)): try await wait(for: resumption)
        case .connected:
            guard let link = session.link else { return handle(.linkLost(DisconnectReason(.other))) }
            try await use(link)
        case .failed:
            _ = try await until { self.session.state.kind == .failed ? nil : true }
        }
    }

    /// Hands a trigger to the machine; the states in which this is called accept it.
    func handle(_ trigger: SessionTrigger) {
        do throws(IllegalTrigger) { try session.handle(trigger) } catch { assertionFailure("\(error)") }
    }

    /// Hands a trigger to the machine in a state that the program may have ended meanwhile.
    private func offer(_ trigger: SessionTrigger) { try? session.handle(trigger) }

    /// Takes leave in order: subscriptions are switched off, that is waited for, then the link is dropped.
    ///
    /// - Parameter forGood: whether streams end.
    func leave(forGood: Bool) async {
        await session.lastLink?.close()
        switch session.state {
        case .failed: break
        case .disconnected(.initial) where forGood: break
        default: handle(.disconnect)
        }
        if forGood { session.channels.finish(throwing: nil) }
    }

    // MARK: - Steps without a link

    private func search() async throws {
        let (filters, choice): ([ScanFilter], SearchChoice) =
            switch plan.target {
            case .found(let filters, let choice): (filters, choice)
            case .addresses(let addresses): (addresses.map { .address($0) }, .first)
            }
        // Where what is said of a peripheral may change, once isn't enough: it comes nearer.
        let needsDuplicates = choice != .first || filters.contains(where: \.isAboutSignal)
        let heard = session.central.scan(for: filters + [.connectable], duplicates: needsDuplicates)
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
            handle(awayAdapter(because: error).map { .adapterLost($0) } ?? .searchFailed(error))
        }
    }

    /// The one with the best signal, of all that are heard from the first one on for a while.
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
        do {
            let link = try await core.connector.connect(
                to: peripheral,
                // How a failure is followed up is the session's own machine to say.
                Connector.Wish(timeout: plan.limits.connect, persists: false, parameters: plan.parameters)
            )
            session.linked(link)
            link.onEnd { [weak self, weak link] reason in
                // One that is being closed says so later, when there may be another one.
                guard let self, self.session.link === link else { return }
                self.news.withLock { $0.linkEnd = reason }
                self.waker.wake()
            }
            handle(.linkEstablished(mtu: link.mtu))
        } catch let error as BLEError {
            handle(awayAdapter(because: error).map { .adapterLost($0) } ?? .connectFailed(error))
        }
    }

    private func wait(for resumption: SessionState.Resumption) async throws {
        let trigger: SessionTrigger?
        switch resumption {
        case .delay(let delay):
            let timeline = core.timeline
            let end = timeline.now + delay
            let timer = timeline.schedule(after: delay, wake)
            defer { timer.cancel() }
            trigger = try await untilResumed {
                if let adapter = self.unusableAdapter { return .adapterLost(adapter) }
                return timeline.now >= end ? .resume : nil
            }
        case .adapter(let state):
            trigger = try await untilResumed {
                switch self.news.withLock({ $0.adapter }) {
                case .poweredOn?: .adapterReturned
                case nil, state?: nil
                case let other?: .adapterLost(other)
                }
            }
            // A controller that has just come back may refuse its first commands.
            if case .adapterReturned? = trigger { try await pause(.milliseconds(250)) }
        }
        if let trigger { offer(trigger) }
    }

    /// Waits until the closure has an answer; `nil` when the program waits no longer.
    private func untilResumed(_ answer: () -> SessionTrigger?) async throws -> SessionTrigger? {
        try await until { () -> SessionTrigger?? in
            guard session.state.kind == .waitingToReconnect else { return .some(nil) }
            return answer().map { .some($0) }
        }
    }

    // MARK: - News

    /// What the adapter is, where it can't be used.
    var unusableAdapter: AdapterState? {
        news.withLock { $0.adapter.flatMap { $0 == .poweredOn ? nil : $0 } }
    }

    /// Why the present link ended; `nil` while it is up.
    var linkEnd: DisconnectReason? { news.withLock { $0.linkEnd } }

    /// What the adapter is, where that is what lies behind a failure.
    func awayAdapter(because error: BLEError) -> AdapterState? {
        if let unusableAdapter { return unusableAdapter }
        switch error.code {
        case .adapterPoweredOff: return .poweredOff
        case .adapterBlocked: return .blocked
        case .adapterNotFound: return .absent
        case .adapterNotReady: return .resetting
        default: return error.reason?.kind == .adapterOff ? .poweredOff : nil
        }
    }

    /// The trigger for a failure on a link, or that for the link's end, where that is what lies behind.
    func unless(_ error: BLEError, _ trigger: SessionTrigger) -> SessionTrigger {
        if let adapter = awayAdapter(because: error) { return .adapterLost(adapter) }
        if error.code == .disconnected, let reason = error.reason { return .linkLost(reason) }
        if let linkEnd { return .linkLost(linkEnd) }
        return trigger
    }

    /// Waits until the closure has an answer; it is asked again whenever there is news.
    func until<Answer>(_ answer: () -> Answer?) async throws -> Answer {
        while true {
            waker.listen()
            if let answer = answer() { return answer }
            try await waker.wait(isolation: #isolation)
        }
    }

    private func pause(_ duration: Duration) async throws {
        let timeline = core.timeline
        try await reply(on: timeline) { finish in
            let timer = timeline.schedule(after: duration) { finish(.success(())) }
            return { timer.cancel() }
        }
    }
}
