import BLEProtocol
import BLERadio
import Synchronization

/// What one command, or a part of one, has begun: its phase, its subscriptions and its events.
final class CommandScope: Sendable {
    /// An event, or why the device has ended a subscription while the link goes on.
    enum Heard: Sendable {
        case event(CommandContext.Event)
        // Rare: the others need no room for it.
        indirect case ended(CharacteristicReference, BLEError)
        /// Values of a subscription that tells of it may be missing here.
        case missed

        /// The event; `nil` if it is none, and nothing to throw.
        func get() throws(BLEError) -> CommandContext.Event? {
            switch self {
            case .event(let event): return event
            case .missed: return nil
            case .ended(_, let error): throw error
            }
        }
    }

    private struct State {
        /// Not hashed: they end in the same order each time.
        var subscriptions: SmallTable<CharacteristicReference, @Sendable () -> Void> = [:]
        var meter: ProgressMeter?
        var phase = ""
        /// The number of achievements: a command that makes progress may be interrupted any number of times.
        var achievements = 0
        /// The number of the link whose end is reported.
        var watchedLink = 0
        /// Stops watching for its end.
        var unwatchLink: (@Sendable () -> Void)?
        /// The events not taken yet; `nil` until the command begins to hear.
        var inbox: Inbox<Heard>?
        /// Stops watching the adapter, its scans and the links.
        var unwatch: [@Sendable () -> Void] = []
        var isAdapterUsable = true
        /// Whether the device was heard since the scan began.
        var isDiscovered = false
        /// No more events are reported.
        var isSilent = false
        /// The scope has ended; it accepts no more subscriptions.
        var isOver = false
    }

    private let work: CommandWork
    private let state = Mutex(State())

    init(_ work: CommandWork) { self.work = work }

    // MARK: - The phase

    var phase: String { state.withLock { $0.phase } }

    /// What errors name: the phase, or the command as long as it has begun none.
    var operation: String { named(phase) }

    private func named(_ phase: String) -> String { phase.isEmpty ? work.name : phase }

    var achievements: Int { state.withLock { $0.achievements } }

    func achieved() { state.withLock { $0.achievements += 1 } }

    func begin(_ phase: String, _ meter: ProgressMeter?) {
        state.withLock { state in
            state.phase = phase
            state.meter = meter
        }
    }

    /// The recent progress per second.
    func rate(at now: Duration, completed: Int) -> Double? {
        state.withLock { $0.meter?.rate(at: now, completed: completed) } ?? nil
    }

    // MARK: - The subscriptions

    /// Keeps the closure that ends a subscription, and ends another one of that name, which may have been made at the
    /// same time; `false` if it is too late.
    func add(_ undo: @escaping @Sendable () -> Void, of reference: CharacteristicReference) -> Bool {
        let (isKept, former) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard !state.isOver, !state.isSilent else { return (false, nil) }
            defer { state.subscriptions[reference] = undo }
            return (true, state.subscriptions[reference])
        }
        former?()
        return isKept
    }

    /// Ends a subscription. If the device had ended it before, nobody needs to be told that any more.
    func unsubscribe(from reference: CharacteristicReference) {
        let (undo, inbox) = state.withLock { ($0.subscriptions.removeValue(forKey: reference), $0.inbox) }
        undo?()
        inbox?.removeAll { if case .ended(reference, _) = $0 { true } else { false } }
    }

    /// Ends all subscriptions. The link that the command had may stay up for others.
    func unsubscribe() {
        let (subscriptions, inbox) = state.withLock { state in
            defer { state.subscriptions = [:] }
            return (state.subscriptions, state.inbox)
        }
        for undo in subscriptions.values { undo() }
        inbox?.removeAll { if case .ended = $0 { true } else { false } }
    }

    // MARK: - The end

    /// Reports no more events. Subscriptions stay until the end.
    func silence(_ error: any Error) {
        let inbox = state.withLock { state in
            state.isSilent = true
            return state.inbox
        }
        inbox?.finish(error, droppingElements: true)
    }

    /// Ends everything that was begun, including all subscriptions.
    func close(_ error: any Error) {
        silence(error)
        let undo = state.withLock { state in
            defer {
                state.subscriptions = [:]
                state.unwatch = []
                state.unwatchLink = nil
                state.isOver = true
            }
            var undo = state.unwatch + state.subscriptions.values
            if let unwatch = state.unwatchLink { undo.append(unwatch) }
            return undo
        }
        for action in undo { action() }
    }
}

// MARK: - Where the events come from

extension CommandScope {
    /// Hears events from the first call on, beginning with the present state.
    @discardableResult
    func listen() -> Inbox<Heard> {
        let (inbox, isNew) = state.withLock { state in
            if let inbox = state.inbox { return (inbox, false) }
            let inbox = Inbox<Heard>(timeline: work.timeline)
            state.inbox = inbox
            return (inbox, true)
        }
        guard isNew else { return inbox }
        let unwatch = [
            work.whenReplaced { [weak self] in self?.silence($0) },
            watchAdapter(inbox), watchScans(inbox), watchLinks(inbox),
        ]
        let isOver = state.withLock { state in
            if !state.isOver { state.unwatch = unwatch }
            return state.isOver
        }
        if isOver {
            for action in unwatch { action() }
            inbox.finish(CancellationError(), droppingElements: true)
        }
        return inbox
    }

    /// Watches the present link, and each that follows.
    private func watchLinks(_ inbox: Inbox<Heard>) -> @Sendable () -> Void {
        if work.isConnected, let link = work.handle {
            watch(link, inbox)
            inbox.send(.readyToWrite)
        }
        return work.watchLinks { [weak self] stage in
            guard let self else { return }
            switch stage {
            case .connected: if work.isConnected, let link = work.handle { watch(link, inbox) }
            case .ready: inbox.send(.readyToWrite)
            }
        }
    }

    private func watch(_ link: Link, _ inbox: Inbox<Heard>) {
        let number = work.connection.number
        state.withLock { $0.watchedLink = number }
        // Values and the end of an earlier link say nothing about this one.
        inbox.removeAll { heard in
            switch heard {
            case .event(.received), .event(.linkLost), .event(.connected), .event(.readyToWrite), .ended, .missed: true
            case .event: false
            }
        }
        inbox.send(.connected)
        // A session's link may last for months, and serve many commands.
        let unwatch = link.onEnd { [weak self] reason in self?.lost(number, reason, inbox) }
        let former = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isOver, state.watchedLink == number else { return unwatch }
            defer { state.unwatchLink = unwatch }
            return state.unwatchLink
        }
        former?()
    }

    private func lost(_ number: Int, _ reason: DisconnectReason, _ inbox: Inbox<Heard>) {
        let phase = state.withLock { state in
            state.watchedLink == number && !state.isSilent ? state.phase : nil
        }
        guard let phase else { return }
        inbox.send(.linkLost(.linkEnded(reason, operation: named(phase), object: "on \(work.peripheral)")))
    }

    /// Watches the adapter.
    private func watchAdapter(_ inbox: Inbox<Heard>) -> @Sendable () -> Void {
        let activity = work.peripheral.core.radio.observeAdapter { [weak self] info in
            guard let self else { return }
            let isUsable = info.state == .poweredOn
            let isNew = state.withLock { state in
                defer { state.isAdapterUsable = isUsable }
                return state.isAdapterUsable != isUsable
            }
            if isNew { inbox.send(isUsable ? .adapterOn : .adapterOff) }
        }
        return { activity.cancel() }
    }

    /// Watches scans, and the device in them.
    private func watchScans(_ inbox: Inbox<Heard>) -> @Sendable () -> Void {
        let peripheral = work.peripheral
        let addresses = Set([peripheral.address] + peripheral.alternatives)
        let identities = peripheral.core.identities
        let isOne: @Sendable (BluetoothAddress) -> Bool = { heard in
            let heard = identities.identity(of: heard)
            return addresses.contains(heard) || addresses.contains { identities.identity(of: $0) == heard }
        }
        return peripheral.core.scans.watch(
            ScanBroker.Watcher(
                started: { [weak self] in
                    self?.state.withLock { $0.isDiscovered = false }
                    inbox.send(.scanStarted)
                },
                heard: { [weak self] reports in
                    guard let self, var report = reports.first(where: { isOne($0.address) }) else { return }
                    let isNew = state.withLock { state in
                        defer { state.isDiscovered = true }
                        return !state.isDiscovered
                    }
                    guard isNew else { return }
                    // As in a scan of the program.
                    report.address = identities.identity(of: report.address)
                    let heard = Peripheral(core: peripheral.core, address: report.address)
                    inbox.send(.discovered(Discovery(peripheral: heard, report: report)))
                },
                stopped: { inbox.send(.scanStopped) }
            )
        )
    }
}

extension Inbox<CommandScope.Heard> {
    func send(_ event: CommandContext.Event) { send(.event(event)) }
}
