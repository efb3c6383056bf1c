internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Tells what becomes of an adapter: plugged in, switched on, blocked.
///
/// The kernel's events say that something may have changed; what it is now is asked for each time, so no event that comes
/// early, late or twice leads astray. Only that it was off for a moment is taken from an event: its links and its
/// advertisements ended, and it may be on again by the time it is asked.
final class AdapterWatch: Sendable {
    private struct State {
        var observers = Observers<EventSink<AdapterInfo>>()
        var last: AdapterInfo?
        var managementEvents: RadioActivity?
        var switches: EventLoop.Registration?
        /// Looks again at an adapter that is on its way to another state.
        var nextLook: RadioActivity?
    }

    /// After how long an adapter that is starting is looked at again: the kernel tells when it is on, and not when the
    /// start has failed.
    private static let patience = Duration.seconds(1)

    private let adapter: LinuxAdapter
    private let loop: EventLoop
    private let timeline: any Timeline
    /// Tells of every change to a radio switch; absent where the system has none or shows none.
    private let switches: SharedDescriptor?
    private let state = Mutex(State())

    init(_ adapter: LinuxAdapter, management: ManagementSocket?, loop: EventLoop, timeline: any Timeline) {
        self.adapter = adapter
        self.loop = loop
        self.timeline = timeline
        switches = try? SharedDescriptor(FileDescriptor.openForReading("/dev/rfkill", of: adapter.kernel))

        let observation = management?.observe { [weak self] events in
            guard events.contains(where: \.event.mayChangeAdapterState) else { return }
            self?.look(wentOff: events.contains(where: \.event.tellsOfPowerOff))
        }
        var registration: EventLoop.Registration?
        if let switches {
            registration = try? loop.register(switches.descriptor, for: .readable) { [weak self, switches] _, _ in
                // What the events say is in sysfs as well, for this adapter by its name.
                while (try? switches.descriptor.read(64))?.isEmpty == false {}
                self?.look()
            }
        }
        state.withLock { [registration] state in
            state.switches = registration
            state.managementEvents = observation
        }
    }

    deinit {
        let registration = state.withLock { $0.switches }
        if let switches, let registration { loop.unregister(registration, of: switches.descriptor) }
    }

    /// Tells the state now, and then each change, on the loop's thread, until the activity is cancelled.
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

    /// Asks what the adapter is now, and tells whoever watches if that is news; on the loop's thread.
    ///
    /// The kernel's events bring it here, but it tells nobody what he has asked for himself.
    ///
    /// - Parameter wentOff: whether the kernel has told since that it is off.
    func look(wentOff: Bool = false) {
        let now = adapter.info
        let next = now.state.isPassing ? lookLater() : nil
        let (sinks, news, former) = state.withLock { state in
            let former = state.nextLook
            state.nextLook = next
            var news: [AdapterInfo] = []
            if wentOff, state.last?.state == .poweredOn, now.state == .poweredOn || now.state.isPassing {
                news.append(AdapterInfo(name: now.name, address: now.address, state: .poweredOff))
            }
            if (news.last ?? state.last) != now { news.append(now) }
            state.last = now
            return (state.observers.all, news, former)
        }
        former?.cancel()
        for info in news { for sink in sinks { sink.send(info) } }
    }

    private func lookLater() -> RadioActivity {
        timeline.schedule(after: Self.patience) { [weak self] in
            guard let self, state.withLock({ !$0.observers.isEmpty }) else { return }
            loop.enqueue { self.look() }
        }
    }
}

extension ManagementEvent {
    /// Whether the adapter may be another thing now than it was before.
    var mayChangeAdapterState: Bool {
        switch self {
        case .indexAdded, .indexRemoved, .extendedIndexAdded, .extendedIndexRemoved, .newSettings, .controllerError:
            true
        default: false
        }
    }

    /// Whether the adapter was off when the kernel told this.
    var tellsOfPowerOff: Bool {
        if case .newSettings(let settings) = self { !settings.contains(.powered) } else { false }
    }
}
