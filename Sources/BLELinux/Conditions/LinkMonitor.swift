internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Hears what a controller tells the kernel of its links, on a raw HCI socket that sends nothing.
///
/// That takes `CAP_NET_RAW`; without it no more is heard than that a link has ended. It is opened with the first attempt
/// to connect, since the controller tells the times of a link when it is made and never again; and once more after the
/// adapter was away.
final class LinkMonitor: Sendable {
    private struct State {
        var table = LinkConditionTable()
        var socket: SharedDescriptor?
        var registration: EventLoop.Registration?
        /// Why it hears nothing, or not all.
        var refusal: SystemError?
        /// Who wants to know of changes, by handle.
        var observers: [UInt16: Observers<@Sendable () -> Void>] = [:]
        /// Who wants to know that a link has ended.
        var endObservers = Observers<@Sendable () -> Void>()
    }

    private let adapter: LinuxAdapter
    private let loop: EventLoop
    private let state = Mutex(State())

    init(_ adapter: LinuxAdapter, loop: EventLoop) {
        self.adapter = adapter
        self.loop = loop
    }

    deinit {
        let (socket, registration) = state.withLock { ($0.socket, $0.registration) }
        if let socket, let registration { loop.unregister(registration, of: socket.descriptor) }
    }

    /// Listens from now on, unless it does; on the loop's thread.
    func open() {
        guard state.withLock({ $0.socket == nil }) else { return }
        do throws(SystemError) {
            let socket = SharedDescriptor(try FileDescriptor.hciSocket())
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

    /// What the controller has told of a link; `nil` where that wasn't heard.
    func conditions(_ handle: UInt16) -> LinkConditions? { state.withLock { $0.table[handle] } }

    /// Why nothing is known of links, or only their ends; `nil` where nothing keeps it from listening.
    var refusal: SystemError? { state.withLock { $0.refusal } }

    /// Tells of each change of a link, on the loop's thread, until the activity is cancelled.
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

    /// Tells of each link that ends, on the loop's thread, maybe before the kernel has noticed, until the activity is cancelled.
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
                guard let event = HCILinkEvent(decoding: buffer.bytes(datagram)) else { continue }
                let observers = state.withLock { state in
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
            }
            return state.registration
        }
        if let registration { loop.unregister(registration, of: socket.descriptor) }
    }
}
