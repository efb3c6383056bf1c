internal import BLERadio
internal import Synchronization

/// Has a socket read at its ``ReadingPace``: what the loop waits for on it, and the timer of a pause.
final class PacedReading: Sendable {
    private struct State {
        var pace = ReadingPace()
        var registration: EventLoop.Registration?
        var again: (@Sendable (ReceiveBuffer) -> Void)?
        var timer: RadioActivity?
    }

    private let loop: EventLoop
    private let timeline: any Timeline
    private let state = Mutex(State())

    init(on loop: EventLoop, _ timeline: any Timeline) {
        self.loop = loop
        self.timeline = timeline
    }

    /// Begins with a registration that waits until the socket is readable.
    ///
    /// - Parameter again: reads the socket after a pause; called on the loop's thread.
    func begin(_ registration: EventLoop.Registration, again: @escaping @Sendable (ReceiveBuffer) -> Void) {
        state.withLock { ($0.registration, $0.again) = (registration, again) }
    }

    /// Takes a reading into account, on the loop's thread.
    ///
    /// - Parameters:
    ///   - count: how many datagrams it found.
    ///   - mayPause: whether nobody waits for what comes next.
    func hasRead(_ count: Int, of socket: borrowing FileDescriptor, mayPause: Bool) {
        let now = timeline.now
        let later = state.withLock { state -> (@Sendable (ReceiveBuffer) -> Void)? in
            guard let registration = state.registration else { return nil }
            switch state.pace.read(count, at: now, mayPause: mayPause) {
            case .wait: return nil
            case .lookAgain: return state.again
            case .resume: return resume(&state, registration, socket) ? nil : state.again
            case .pause:
                // An end is reported all the same.
                if (try? loop.change(registration, of: socket, to: [])) != nil { return state.again }
                _ = state.pace.hurry()
                return nil
            }
        }
        guard let later else { return }
        let timer = loop.scheduleReceiving(after: ReadingPace.interval, timeline, later)
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
        }
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
        if (try? loop.change(registration, of: socket, to: .readable)) != nil { return true }
        state.pace.stayPaused()
        return false
    }
}
