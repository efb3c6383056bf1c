internal import BLERadio
internal import Synchronization

/// Accepts the connections that come in on one listening socket.
///
/// If the system doesn't let the program open another descriptor, a connection can't be accepted, and the socket stays
/// readable: then it is left alone for a while, instead of being polled in vain. Meanwhile connections wait in the
/// kernel's backlog.
final class LinkAcceptor: Sendable {
    /// The outcome of accepting.
    enum Event: Sendable {
        case accepted(AcceptedSocket)
        /// No connection can be accepted for now; reported once, until one can be accepted again.
        case interrupted(SystemError)
        /// The socket is no longer usable.
        case failed(SystemError)
    }

    /// After how long accepting is tried again.
    static let pause = Duration.seconds(1)

    private struct State {
        var registration: EventLoop.Registration?
        var timer: RadioActivity?
        var isInterrupted = false
        var isOver = false
    }

    private let socket: SharedDescriptor
    private let loop: EventLoop
    private let timeline: any Timeline
    private let take: @Sendable (borrowing FileDescriptor) throws(SystemError) -> AcceptedSocket
    private let events: @Sendable (Event) -> Void
    private let state = Mutex(State())

    /// Whether no connection can be accepted for now, as far as the system has said: those that wait are not known.
    var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// - Parameter take: the system call, which a test may replace.
    init(
        _ socket: SharedDescriptor,
        loop: EventLoop,
        timeline: any Timeline,
        take: @escaping @Sendable (borrowing FileDescriptor) throws(SystemError) -> AcceptedSocket = {
            (descriptor: borrowing FileDescriptor) throws(SystemError) in try descriptor.accept()
        },
        events: @escaping @Sendable (Event) -> Void
    ) {
        self.socket = socket
        self.loop = loop
        self.timeline = timeline
        self.take = take
        self.events = events
    }

    /// Starts, on the loop's thread.
    func begin() throws(SystemError) {
        let registration = try loop.register(socket.descriptor, for: .readable) { [weak self] _, _ in self?.accept() }
        state.withLock { $0.registration = registration }
    }

    /// Ends it; on the loop's thread, no event comes afterwards.
    func cancel() {
        let (registration, timer) = state.withLock { state in
            state.isOver = true
            return (state.registration.take(), state.timer.take())
        }
        timer?.cancel()
        if let registration { loop.unregister(registration, of: socket.descriptor) }
    }

    /// Accepts what waits, then ends; on the loop's thread. It goes on if something can't be accepted for now, which
    /// would end with the socket.
    ///
    /// - Returns: whether it has ended.
    func retire() -> Bool {
        accept()
        if state.withLock({ $0.isInterrupted && !$0.isOver }) { return false }
        cancel()
        return true
    }

    private func accept() {
        while !state.withLock({ $0.isOver }) {
            do throws(SystemError) {
                let accepted = try take(socket.descriptor)
                state.withLock { $0.isInterrupted = false }
                events(.accepted(accepted))
            } catch {
                return refused(error)
            }
        }
    }

    private func refused(_ error: SystemError) {
        switch error {
        // Nothing is waiting any more. The system says so only if it could give a descriptor.
        case .wouldBlock: state.withLock { $0.isInterrupted = false }
        // The one that waited has left, and the loop reports the next.
        case .connectionAborted, .connectionReset: break
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .noBufferSpace: pause(error)
        default:
            cancel()
            events(.failed(error))
        }
    }

    private func pause(_ error: SystemError) {
        guard let registration = state.withLock({ $0.registration }) else { return }
        do throws(SystemError) {
            try loop.change(registration, of: socket.descriptor, to: [])
        } catch {
            cancel()
            return events(.failed(error))
        }
        let timer = timeline.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            self.loop.enqueue { self.goOn() }
        }
        let isNews = state.withLock { state in
            if !state.isOver { state.timer = timer }
            defer { state.isInterrupted = true }
            return !state.isInterrupted
        }
        if isNews { events(.interrupted(error)) }
    }

    private func goOn() {
        guard let registration = state.withLock({ $0.isOver ? nil : $0.registration }) else { return }
        do throws(SystemError) {
            try loop.change(registration, of: socket.descriptor, to: .readable)
        } catch {
            cancel()
            return events(.failed(error))
        }
        // Even if nothing waits any more: otherwise the end of the shortage would show only with the next connection.
        accept()
    }
}
