internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Reports the state of an adapter: plugged in, switched on, blocked.
///
/// The kernel's events say that something may have changed; the current state is queried each time, so an event that
/// comes early, late or twice does no harm. Only a brief power-off is taken from an event: it ended the links and
/// advertisements, and the adapter may be on again by the time it is queried. So may one that was unplugged or reset,
/// which has lost its keys and settings, too: the query itself shows that it is another one.
final class AdapterWatch: Sendable {
    private struct State {
        var observers = Observers<EventSink<AdapterInfo>>()
        var last: AdapterInfo?
        /// How often it had been removed then.
        var removals = 0
        var managementEvents: RadioActivity?
        /// Report every change of a radio switch; `nil` if the system has none or shows none.
        var switches: (file: SharedDescriptor, registration: EventLoop.Registration)?
        /// Whether they could not be opened yet, since something has run out, such as descriptors.
        var lacksSwitches = false
        /// Checks an adapter again that is about to change to another state, and tries to open the switches again.
        var nextLook: RadioActivity?
        /// Forgets that this program had switched it off.
        var forgetting: RadioActivity?
    }

    /// After how long a starting adapter is checked again: the kernel reports that it is on, but not that the start has
    /// failed.
    private static let patience = Duration.seconds(1)

    private let adapter: LinuxAdapter
    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(_ adapter: LinuxAdapter, management: ManagementSocket?, loop: EventLoop, timeline: any Timeline) {
        self.adapter = adapter
        self.loop = loop
        self.timeline = timeline
        let lacksSwitches = watchSwitches()
        let observation = management?.observe { [weak self] events in
            guard events.contains(where: \.event.mayChangeAdapterState) else { return }
            self?.look(wentOff: events.contains(where: \.event.tellsOfPowerOff))
        } lost: { [weak self] _ in
            self?.look()
        }
        state.withLock { state in
            state.lacksSwitches = lacksSwitches
            state.managementEvents = observation
        }
    }

    deinit {
        if let (file, registration) = state.withLock({ $0.switches }) {
            loop.unregister(registration, of: file.descriptor)
        }
    }

    /// Watches the radio switches from now on, if the system shows any.
    ///
    /// - Returns: whether to try it again: something has run out, such as descriptors.
    private func watchSwitches() -> Bool {
        do throws(SystemError) {
            let file = SharedDescriptor(try .openForReading("/dev/rfkill", of: adapter.kernel))
            let registration = try loop.register(file.descriptor, for: .readable) { [weak self, file] _, _ in
                // What the events say is also in sysfs, by this adapter's name.
                while (try? file.descriptor.read(64))?.isEmpty == false {}
                self?.look()
            }
            state.withLock { $0.switches = (file, registration) }
            return false
        } catch {
            return error.isShortage
        }
    }

    /// Reports the current state, and then each change, on the loop's thread, until the activity is cancelled.
    func observe(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        let sink = EventSink(events)
        loop.enqueue { self.add(sink) }
        return RadioActivity { [weak self] in
            sink.close()
            self?.state.withLock { _ = $0.observers.removeAll { $0 === sink } }
        }
    }

    private func add(_ sink: EventSink<AdapterInfo>) {
        look()
        let now = state.withLock { state in
            if sink.isOpen { _ = state.observers.add(sink) }
            return state.last
        }
        if let now { sink.send(now) }
    }

    /// Queries the adapter's state, and tells the observers if it has changed; on the loop's thread.
    ///
    /// The kernel's events lead here, but the kernel does not send a program the events of its own commands.
    ///
    /// - Parameter wentOff: whether the kernel has since reported that it is off.
    func look(wentOff: Bool = false) {
        let lacksSwitches = state.withLock { $0.lacksSwitches } && watchSwitches()
        let now = adapter.info
        let removals = adapter.seenRemovals
        let next = now.state.isPassing || lacksSwitches ? lookLater() : nil
        let (sinks, news, isBack, former) = state.withLock { state in
            let isBack = now.state == .poweredOn && (wentOff || state.last?.state != .poweredOn)
            let former = state.nextLook
            state.nextLook = next
            state.lacksSwitches = lacksSwitches
            var news: [AdapterInfo] = []
            let wasThere = state.last.map { $0.state != .absent } ?? false
            if wasThere, removals != state.removals, now.state != .absent {
                news.append(AdapterInfo(name: now.name, address: now.address, state: .absent))
            } else if wentOff, state.last?.state == .poweredOn, now.state == .poweredOn || now.state.isPassing {
                news.append(AdapterInfo(name: now.name, address: now.address, state: .poweredOff))
            }
            if (news.last ?? state.last) != now { news.append(now) }
            (state.last, state.removals) = (now, removals)
            return (state.observers.all, news, isBack, former)
        }
        former?.cancel()
        if isBack { forgetSwitching(now.name) }
        for info in news { for sink in sinks { sink.send(info) } }
    }

    /// Forgets, a moment later, that this program had switched it off: it is on again, whoever has done that, and a
    /// later power-off has another cause.
    private func forgetSwitching(_ name: String) {
        guard let timer = SwitchedHere.removeLater(name, on: timeline) else { return }
        let former = state.withLock { state in
            defer { state.forgetting = timer }
            return state.forgetting
        }
        former?.cancel()
    }

    private func lookLater() -> RadioActivity {
        timeline.schedule(after: Self.patience) { [weak self] in
            guard let self, state.withLock({ !$0.observers.isEmpty }) else { return }
            loop.enqueue { self.look() }
        }
    }
}

extension ManagementEvent {
    /// Whether the adapter's state may have changed.
    var mayChangeAdapterState: Bool {
        switch self {
        case .indexAdded, .indexRemoved, .extendedIndexAdded, .extendedIndexRemoved, .newSettings, .controllerError:
            true
        default: false
        }
    }

    /// Whether the adapter was off when the kernel sent this.
    var tellsOfPowerOff: Bool {
        if case .newSettings(let settings) = self { !settings.contains(.powered) } else { false }
    }
}
