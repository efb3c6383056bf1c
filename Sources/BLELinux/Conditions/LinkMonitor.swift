internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Receives what a controller reports to the kernel about its links, on a raw HCI socket that sends nothing.
///
/// This requires `CAP_NET_RAW`; without it, only the end of a link is received. It is opened with the first attempt to
/// connect, since the controller reports a link's timing only when the link is made; and again after the adapter was
/// away.
final class LinkMonitor: Sendable {
    private struct State {
        var table = LinkConditionTable()
        /// When the links were reported that have not ended, by handle.
        var made: [UInt16: Duration] = [:]
        /// When the kernel has asked the controller for a link; `nil` if the outcome is known.
        var asked: Duration?
        var socket: SharedDescriptor?
        var registration: EventLoop.Registration?
        /// Why it receives nothing, or not everything.
        var refusal: SystemError?
        /// The observers of changes, by handle.
        var observers: [UInt16: Observers<@Sendable () -> Void>] = [:]
        /// The observers of ended links.
        var endObservers = Observers<@Sendable () -> Void>()
        /// Who waits until the outcome of what was asked is known.
        var attemptObservers = Observers<@Sendable () -> Void>()

        /// Those who wait, once, if nothing is asked any more.
        mutating func takeAttemptObservers() -> [@Sendable () -> Void] {
            asked == nil ? attemptObservers.removeAll() : []
        }

        mutating func note(_ event: HCILinkEvent, _ now: Duration) {
            switch event {
            case .connecting: asked = now
            case .connected(let handle, _, let isCentral):
                made[handle] = now
                if isCentral { asked = nil }
            case .disconnected(let handle): made[handle] = nil
            default: break
            }
        }
    }

    private let adapter: LinuxAdapter
    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(_ adapter: LinuxAdapter, loop: EventLoop, timeline: any Timeline) {
        self.adapter = adapter
        self.loop = loop
        self.timeline = timeline
    }

    deinit {
        let (socket, registration) = state.withLock { ($0.socket, $0.registration) }
        if let socket, let registration { loop.unregister(registration, of: socket.descriptor) }
    }

    /// Begins to listen, unless it already does; on the loop's thread.
    func open() {
        guard state.withLock({ $0.socket == nil }) else { return }
        do throws(SystemError) {
            let socket = SharedDescriptor(try FileDescriptor.hciSocket(of: adapter.kernel))
            let hearsAll = try socket.descriptor.filterLinks()
            try socket.descriptor.bind(to: .raw(adapter: adapter.number))
            let registration = try loop.register(socket.descriptor, for: .readable) { [weak self] readiness, buffer in
                self?.socketIsReady(readiness, buffer)
            }
            state.withLock { state in
                state.socket = socket
                state.registration = registration
                state.refusal = hearsAll ? nil : .notPermitted
            }
        } catch {
            state.withLock { $0.refusal = error }
        }
    }

    /// What the controller has reported about a link; `nil` if that was not received.
    func conditions(_ handle: UInt16) -> LinkConditions? { state.withLock { $0.table[handle] } }

    /// The handles of the links that the controller has at least for this long, of those that it has reported.
    func handles(atLeast age: Duration) -> [UInt16] {
        let latest = timeline.now - age
        return state.withLock { state in state.made.filter { $0.value <= latest }.keys.sorted() }
    }

    /// Reports once, on the loop's thread, that the controller is no longer making a link for the kernel, or has had
    /// its time for it, until the activity is cancelled; `nil` if it makes none, and at most listens for a peer.
    func observeAttempt(_ ended: @escaping @Sendable () -> Void) -> RadioActivity? {
        let now = timeline.now
        let waiting = state.withLock { state -> (Int, Duration)? in
            guard let asked = state.asked else { return nil }
            // A command that the controller refuses has no report.
            let left = asked + HCIScanMachine.connectDeadline - now
            guard left > .zero else { return nil }
            return (state.attemptObservers.add(ended), left)
        }
        guard let (id, left) = waiting else { return nil }
        let timer = timeline.schedule(after: left) { [weak self, loop] in
            loop.enqueue { [weak self] in
                let observer = self?.state.withLock { $0.attemptObservers.remove(id) }
                observer?()
            }
        }
        return RadioActivity { [weak self] in
            timer.cancel()
            // Released outside the lock: what it holds may be deallocated with it.
            _ = self?.state.withLock { $0.attemptObservers.remove(id) }
        }
    }

    /// Forgets when a link was reported: the controller was asked to end it.
    func forget(_ handle: UInt16) { state.withLock { $0.made[handle] = nil } }

    /// Why nothing is known about links, or only their ends; `nil` if nothing prevents listening.
    var refusal: SystemError? { state.withLock { $0.refusal } }

    /// Reports each change of a link, on the loop's thread, until the activity is cancelled.
    func observe(_ handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        let id = state.withLock { state in
            state.observers[handle, default: Observers()].add(changed)
        }
        return RadioActivity { [weak self] in
            _ = self?.state.withLock { state in
                defer { if state.observers[handle]?.isEmpty == true { state.observers[handle] = nil } }
                return state.observers[handle]?.remove(id)
            }
        }
    }

    /// Reports each link that ends, on the loop's thread, perhaps before the kernel has noticed, until the activity is
    /// cancelled.
    func observeEnds(_ ended: @escaping @Sendable () -> Void) -> RadioActivity {
        let id = state.withLock { $0.endObservers.add(ended) }
        return RadioActivity { [weak self] in
            // Released outside the lock: what it holds may be deallocated with it.
            _ = self?.state.withLock { $0.endObservers.remove(id) }
        }
    }

    private func socketIsReady(_ readiness: Readiness, _ buffer: ReceiveBuffer) {
        guard let socket = state.withLock({ $0.socket }) else { return }
        let outcome = SocketDrain.empty(socket.descriptor, readiness: readiness, through: buffer) { count in
            for datagram in 0..<count {
                let packet = buffer.bytes(datagram)
                for tell in received(packet) { tell() }
            }
        }
        // The adapter is gone or off, and its links with it.
        guard case .ended = outcome else { return }
        let (registration, observers) = state.withLock { state in
            state.socket = nil
            state.table.removeAll()
            state.made.removeAll()
            state.asked = nil
            return (state.registration.take(), state.takeAttemptObservers())
        }
        if let registration { loop.unregister(registration, of: socket.descriptor) }
        for tell in observers { tell() }
    }

    /// Notes what a packet reports. Returns who is to be told.
    private func received(_ packet: [UInt8]) -> [@Sendable () -> Void] {
        guard let event = HCILinkEvent(decoding: packet) else {
            guard HCILinkEvent.endsAttempt(packet) else { return [] }
            return state.withLock { state in
                state.asked = nil
                return state.takeAttemptObservers()
            }
        }
        return state.withLock { state in
            state.note(event, timeline.now)
            let changed = state.table.received(event).flatMap { state.observers[$0] }
            if case .disconnected = event { return state.endObservers.all }
            return (changed?.all ?? []) + state.takeAttemptObservers()
        }
    }
}
