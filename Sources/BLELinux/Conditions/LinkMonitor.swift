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

    /// Whether the controller is making a link for the kernel, and not only listening for a peer.
    var isLinkBeingMade: Bool {
        // A command that the controller refuses has no report.
        let earliest = timeline.now - HCIScanMachine.connectDeadline
        return state.withLock { $0.asked.map { $0 > earliest } ?? false }
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
                guard let event = HCILinkEvent(decoding: packet) else {
                    if HCILinkEvent.endsAttempt(packet) { state.withLock { $0.asked = nil } }
                    continue
                }
                let observers = state.withLock { state in
                    state.note(event, timeline.now)
                    let changed = state.table.received(event).flatMap { state.observers[$0] }
                    if case .disconnected = event { return state.endObservers.all }
                    return changed?.all ?? []
                }
                for tell in observers { tell() }
            }
        }
        // The adapter is gone or off, and its links with it.
        guard case .ended = outcome else { return }
        let registration = state.withLock { state in
            defer {
                state.registration = nil
                state.socket = nil
                state.table.removeAll()
                state.made.removeAll()
                state.asked = nil
            }
            return state.registration
        }
        if let registration { loop.unregister(registration, of: socket.descriptor) }
    }
}
