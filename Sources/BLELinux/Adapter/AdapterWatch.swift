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
    }

    private let adapter: LinuxAdapter
    private let loop: EventLoop
    /// Tells of every change to a radio switch; absent where the system has none or shows none.
    private let switches: SharedDescriptor?
    private let state = Mutex(State())

    init(_ adapter: LinuxAdapter, management: ManagementSocket?, loop: EventLoop) {
        self.adapter = adapter
        self.loop = loop
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
        let sinks = state.withLock { state -> [EventSink<AdapterInfo>] in
            guard state.last != now else { return [] }
            state.last = now
            return state.observers
        }
        for sink in sinks { sink.send(now) }
    }
}

extension ManagementEvent {
    /// Whether the adapter may be another thing now than it was before.
    var mayChangeAdapterState: Bool {
        switch self {
        case .indexAdded, .indexRemoved, .extendedIndexAdded, .extendedIndexRemoved, .newSettings: true
        default: false
        }
    }
}
