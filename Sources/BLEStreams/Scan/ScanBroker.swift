import BLEProtocol
import BLERadio
import Synchronization

/// One scan of the radio for any number of consumers, each with its own filters.
///
/// The first consumer starts the radio's scan and the last one stops it; in between, the scan serves all of them: it is
/// active if one needs that, and limited to services if all are.
final class ScanBroker: Sendable {
    struct Options: Hashable, Sendable {
        var services: [BluetoothUUID]
        var isActive: Bool
        var reportsDuplicates: Bool
    }

    private struct Consumer {
        var options: Options
        /// What to look for, under identity addresses; `nil`: everything, as it was received.
        var criteria: ScanCriteria?
        var take: @Sendable ([AdvertisingReport]) -> Void
        var lost: @Sendable (Int) -> Void
        var fail: @Sendable (BLEError) -> Void
    }

    /// A watcher of the radio's scan, whoever requested it.
    struct Watcher: Sendable {
        /// The radio listens; called immediately if it does already.
        let started: @Sendable () -> Void
        /// Called with advertisements, whatever the consumers look for.
        let heard: @Sendable ([AdvertisingReport]) -> Void
        /// The radio no longer listens.
        let stopped: @Sendable () -> Void
    }

    private struct State {
        var consumers = Observers<Consumer>()
        /// Counts the changes of the consumers.
        var version = 0
        var watchers = Observers<Watcher>()
        /// Whether the radio listens; a scan that replaces another one changes nothing.
        var isListening = false
        var running: ScanRequest?
        var activity: RadioActivity?
        /// Whether a thread is telling the radio what is wanted: it tells it what has changed meanwhile, too.
        var isAdjusting = false
        /// Whether the radio's scan is to be ended, also if it is what is wanted.
        var mustEnd = false
        /// Whether the radio is paused although there are consumers.
        var isSuspended = false
        /// The error of a scan that is to continue.
        var heldError: BLEError?
        /// Counts the radio's scans: events of a replaced one are ignored.
        var generation = 0
        /// Whether a failed scan is being handled, until ``resume()`` restarts it or ``giveUp()`` abandons it:
        /// consumers don't learn of its end meanwhile.
        var isHeld: @Sendable () -> Bool = { false }
    }

    private let radio: any Radio
    private let identity: @Sendable (BluetoothAddress) -> BluetoothAddress
    private let state = Mutex(State())
    /// Tells the watchers when the radio begins to listen and when it ends, in this order: consumers come and go on
    /// other threads than the radio's.
    private let news = Announcements()
    private let memory = Mutex(ScanMemory())

    /// - Parameter identity: the identity behind a private address; the address itself if that is unknown.
    init(radio: any Radio, identity: @escaping @Sendable (BluetoothAddress) -> BluetoothAddress = { $0 }) {
        self.radio = radio
        self.identity = identity
    }

    /// Sets the closure that decides whether consumers learn of the end of a scan.
    func holdFailures(while condition: @escaping @Sendable () -> Bool) { state.withLock { $0.isHeld = condition } }

    /// Pauses the radio's scan; consumers notice only that no advertisements arrive.
    func suspend() {
        state.withLock { state in
            (state.isSuspended, state.mustEnd) = (true, true)
        }
        adjust()
    }

    /// Continues after ``suspend()``, or after a failure that was held back.
    func resume() {
        state.withLock { state in
            state.isSuspended = false
            state.heldError = nil
            if state.consumers.isEmpty { stop(&state) }
        }
        news.make()
        adjust()
    }

    /// Reports a failure that was held back; continues if there was none.
    func giveUp() {
        guard let error = state.withLock({ $0.heldError.take() }) else { return resume() }
        let consumers = state.withLock { state -> [Consumer] in
            state.isSuspended = false
            return end(&state)
        }
        for consumer in consumers { consumer.fail(error) }
        news.make()
    }

    /// Adds a consumer; the returned closure removes it.
    ///
    /// - Parameter criteria: what to look for: the consumer gets nothing else, and peripherals under their identities.
    ///   `nil`: it gets everything, as it was received.
    func add(
        _ options: Options,
        for criteria: ScanCriteria? = nil,
        take: @escaping @Sendable ([AdvertisingReport]) -> Void,
        lost: @escaping @Sendable (Int) -> Void,
        fail: @escaping @Sendable (BLEError) -> Void
    ) -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.version += 1
            return state.consumers.add(
                Consumer(options: options, criteria: criteria, take: take, lost: lost, fail: fail)
            )
        }
        adjust()
        return { self.remove(id) }
    }

    /// Adds a watcher of scans that requests none itself; the returned closure removes it.
    func watch(_ watcher: Watcher) -> @Sendable () -> Void {
        let id = state.withLock { state in
            if state.isListening { news.add { watcher.started() } }
            return state.watchers.add(watcher)
        }
        news.make()
        return { _ = self.state.withLock { $0.watchers.remove(id) } }
    }

    private func remove(_ id: Int) {
        // Released outside the lock: this may deallocate what it holds.
        let consumer = state.withLock { state in
            state.version += 1
            return state.consumers.remove(id)
        }
        if consumer != nil { adjust() }
    }

    /// What the radio is to be told: that a scan has ended, that another begins, or both.
    private struct Adjustment {
        var old: RadioActivity?
        var start: (request: ScanRequest, generation: Int)?
    }

    /// Adapts the radio's scan to the present consumers.
    ///
    /// One thread at a time: the radio scans once, and would refuse a scan that one thread begins while another has yet
    /// to end the one before. Whoever comes meanwhile leaves it to that thread.
    private func adjust() {
        let isFirst = state.withLock { state in
            defer { state.isAdjusting = true }
            return !state.isAdjusting
        }
        guard isFirst else { return }
        while let adjustment = nextAdjustment() { carryOut(adjustment) }
    }

    /// What is to be changed; `nil`: the radio does what is wanted.
    private func nextAdjustment() -> Adjustment? {
        state.withLock { state in
            let wanted = state.isSuspended ? nil : Self.request(for: state.consumers.all.map(\.options))
            guard wanted != state.running || state.mustEnd else {
                state.isAdjusting = false
                return nil
            }
            state.mustEnd = false
            state.running = wanted
            state.generation += 1
            if wanted == nil, !state.isSuspended { stop(&state) }
            return Adjustment(old: state.activity.take(), start: wanted.map { ($0, state.generation) })
        }
    }

    private func carryOut(_ adjustment: Adjustment) {
        // The old scan must have ended before the radio accepts a new one.
        adjustment.old?.cancel()
        news.make()
        guard let (request, generation) = adjustment.start else { return }
        let activity = radio.scan(request) { [weak self] event in self?.handle(event, generation) }
        let hasFailed = state.withLock { state in
            guard state.generation == generation, state.running != nil else { return true }
            state.activity = activity
            return false
        }
        if hasFailed { activity.cancel() }
    }

    private func handle(_ event: ScanEvent, _ generation: Int) {
        switch event {
        case .started:
            state.withLock { state in
                guard state.generation == generation, !state.isListening else { return }
                state.isListening = true
                news.add { [watchers = state.watchers.all] in for watcher in watchers { watcher.started() } }
            }
            news.make()
        case .reports(let reports):
            hand(reports, of: generation)
            for watcher in watchers(of: generation) { watcher.heard(reports) }
        case .dropped(let count): for consumer in consumers(of: generation) { consumer.lost(count) }
        case .failed(let error):
            let isHeld = state.withLock { $0.isHeld }()
            let consumers = state.withLock { state -> [Consumer] in
                guard state.generation == generation else { return [] }
                guard isHeld else { return end(&state) }
                (state.isSuspended, state.heldError) = (true, error)
                state.running = nil
                state.activity = nil
                return []
            }
            for consumer in consumers { consumer.fail(error) }
            news.make()
            // The handling may have ended meanwhile, and nobody else would tell of the failure.
            if isHeld, !state.withLock({ $0.isHeld })(), state.withLock({ $0.heldError != nil }) { giveUp() }
        }
    }

    /// Gives each consumer the advertisements that it looks for.
    private func hand(_ reports: [AdvertisingReport], of generation: Int) {
        let (consumers, version) = state.withLock { state in
            (state.generation == generation ? state.consumers.all : [], state.version)
        }
        let criteria = consumers.compactMap(\.criteria)
        var wanted = [[AdvertisingReport]](repeating: [], count: criteria.count)
        if !criteria.isEmpty {
            memory.withLock { memory in
                for var report in reports {
                    report.address = identity(report.address)
                    memory.choose(report, among: criteria, version: version) { wanted[$0].append(report) }
                }
            }
        }
        var place = 0
        for consumer in consumers {
            guard consumer.criteria != nil else {
                consumer.take(reports)
                continue
            }
            if !wanted[place].isEmpty { consumer.take(wanted[place]) }
            place += 1
        }
    }

    /// Ends all scans; returns the consumers to tell.
    private func end(_ state: inout State) -> [Consumer] {
        state.running = nil
        state.activity = nil
        stop(&state)
        return state.consumers.removeAll()
    }

    /// The radio no longer listens, which `news` is to tell.
    private func stop(_ state: inout State) {
        guard state.isListening else { return }
        state.isListening = false
        news.add { [watchers = state.watchers.all] in for watcher in watchers { watcher.stopped() } }
    }

    private func watchers(of generation: Int) -> [Watcher] {
        state.withLock { $0.generation == generation ? $0.watchers.all : [] }
    }

    /// The consumers of a scan of the radio; none if it was replaced.
    private func consumers(of generation: Int) -> [Consumer] {
        state.withLock { $0.generation == generation ? $0.consumers.all : [] }
    }

    /// The smallest scan that serves all; `nil` if there is none to serve.
    static func request(for options: [Options]) -> ScanRequest? {
        guard !options.isEmpty else { return nil }
        let services: [BluetoothUUID] =
            options.contains { $0.services.isEmpty }
            ? [] : Set(options.flatMap(\.services)).sorted { ($0.high, $0.low) < ($1.high, $1.low) }
        return ScanRequest(
            services: services,
            isActive: options.contains(where: \.isActive),
            reportsDuplicates: options.contains(where: \.reportsDuplicates)
        )
    }
}
