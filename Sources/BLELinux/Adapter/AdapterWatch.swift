internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Tells what becomes of an adapter: plugged in, switched on, blocked.
///
/// The kernel's events only say that something may have changed; what it is now is asked for each time, so no event
/// that comes early, late or twice leads astray.
final class AdapterWatch: Sendable {
    private struct State {
        var observers: [EventSink<AdapterInfo>] = []
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
        switches = try? SharedDescriptor(FileDescriptor.openForReading("/dev/rfkill"))

        let observation = management?.observe { [weak self] events in
            if events.contains(where: \.event.mayChangeAdapterState) { self?.look() }
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
            self?.state.withLock { $0.observers.removeAll { $0 === sink } }
        }
    }

    private func add(_ sink: EventSink<AdapterInfo>) {
        look()
        let now = state.withLock { state in
            if sink.isOpen { state.observers.append(sink) }
            return state.last
        }
        if let now { sink.send(now) }
    }

    /// Asks what the adapter is now, and tells whoever watches if that is news.
    private func look() {
        let now = adapter.info
        let next = now.state.isPassing ? lookLater() : nil
        let (sinks, former) = state.withLock { state -> ([EventSink<AdapterInfo>], RadioActivity?) in
            let former = state.nextLook
            state.nextLook = next
            guard state.last != now else { return ([], former) }
            state.last = now
            return (state.observers, former)
        }
        former?.cancel()
        for sink in sinks { sink.send(now) }
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
}
