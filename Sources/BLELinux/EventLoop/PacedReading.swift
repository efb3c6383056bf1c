internal import BLERadio
internal import Synchronization

/// Has a socket read at its ``ReadingPace``: what the loop waits for on it, and the timer of a pause.
final class PacedReading: Sendable {
    private struct State {
        var pace: ReadingPace
        var registration: EventLoop.Registration?
        /// What the loop waits for besides what there is to read.
        var others: Readiness = []
        var again: (@Sendable (ReceiveBuffer) -> Void)?
        var timer: RadioActivity?

        /// What the loop waits for.
        var interest: Readiness { pace.isPaused ? others : others.union(.readable) }
    }

    private let loop: EventLoop
    private let timeline: any Timeline
    private let interval: Duration
    private let state: Mutex<State>
    /// Whether something was sent since the last reading, and whether a sender must end a pause: without the lock,
    /// since most of what is sent finds no pause.
    private let hasSentSinceReading = Atomic(false)
    private let isPaused = Atomic(false)

    init(_ pace: ReadingPace, on loop: EventLoop, _ timeline: any Timeline) {
        self.loop = loop
        self.timeline = timeline
        interval = pace.interval
        state = Mutex(State(pace: pace))
    }

    /// Begins with a registration that waits until the socket is readable, and for `others`.
    ///
    /// - Parameter again: reads the socket after a pause; called on the loop's thread.
    func begin(
        _ registration: EventLoop.Registration,
        and others: Readiness = [],
        again: @escaping @Sendable (ReceiveBuffer) -> Void
    ) {
        state.withLock { ($0.registration, $0.others, $0.again) = (registration, others, again) }
    }

    /// Changes what the loop waits for besides what there is to read. From any thread.
    func alsoWait(for others: Readiness, of socket: borrowing FileDescriptor) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            state.others = others
            guard let registration = state.registration else { return }
            try loop.change(registration, of: socket, to: state.interest)
        }
    }

    /// Takes a reading into account, on the loop's thread.
    ///
    /// - Parameters:
    ///   - count: how many datagrams it found.
    ///   - mayPause: whether nobody waits for what comes next.
    func hasRead(_ count: Int, of socket: borrowing FileDescriptor, mayPause: Bool) {
        let now = timeline.now
        // What comes next may be the answer to it.
        let isInHurry = hasSentSinceReading.exchange(false, ordering: .relaxed)
        let later = state.withLock { state -> (@Sendable (ReceiveBuffer) -> Void)? in
            defer { isPaused.store(state.pace.isPaused, ordering: .releasing) }
            guard let registration = state.registration else { return nil }
            let step: ReadingPace.Step =
                isInHurry
                ? state.pace.hurry() ? .resume : .wait
                : state.pace.read(count, at: now, mayPause: mayPause)
            switch step {
            case .wait: return nil
            case .lookAgain: return state.again
            case .resume: return resume(&state, registration, socket) ? nil : state.again
            case .pause:
                // An end is reported all the same.
                if (try? loop.change(registration, of: socket, to: state.interest)) != nil { return state.again }
                _ = state.pace.hurry()
                return nil
            }
        }
        guard let later else { return }
        let timer = loop.scheduleReceiving(after: interval, timeline, later)
        let former = state.withLock { state -> RadioActivity? in
            // Ended, or in a hurry by now: then the socket is read once more than it need be.
            defer { state.timer = state.registration == nil ? nil : timer }
            return state.registration == nil ? timer : state.timer
        }
        former?.cancel()
    }

    /// Somebody waits for what comes next: the socket is read as soon as that has come. From any thread.
    func hurry(_ socket: borrowing FileDescriptor) {
        state.withLock { state in
            if state.pace.hurry(), let registration = state.registration { resume(&state, registration, socket) }
            isPaused.store(state.pace.isPaused, ordering: .releasing)
        }
    }

    /// Something was sent through the socket: an answer may come. From any thread; it costs next to nothing.
    ///
    /// Where a pause begins at this very moment, the answer waits for one interval.
    func hasSent(to socket: borrowing FileDescriptor) {
        hasSentSinceReading.store(true, ordering: .relaxed)
        if isPaused.load(ordering: .acquiring) { hurry(socket) }
    }

    /// Ends it; the registration is the caller's again.
    func end() -> EventLoop.Registration? {
        let (registration, timer) = state.withLock { state in
            defer { (state.registration, state.again, state.timer) = (nil, nil, nil) }
            return (state.registration, state.timer)
        }
        timer?.cancel()
        return registration
    }

    /// - Returns: whether the loop waits for the socket again.
    @discardableResult
    private func resume(
        _ state: inout State,
        _ registration: EventLoop.Registration,
        _ socket: borrowing FileDescriptor
    ) -> Bool {
        if (try? loop.change(registration, of: socket, to: state.interest)) != nil { return true }
        state.pace.stayPaused()
        return false
    }
}
