import BLERadio
import Synchronization

/// Wakes a consumer at a moment; if it is set again before that, it keeps its timer and checks again when that fires.
///
/// It may wake the consumer early, who then reads the clock and sets it again.
final class Alarm: Sendable {
    private struct State {
        var timer: RadioActivity?
        var rings: Duration?
        var isStopped = false
    }

    private let timeline: any Timeline
    private let waker: Waker
    private let state = Mutex(State())

    init(timeline: any Timeline, waker: Waker) {
        self.timeline = timeline
        self.waker = waker
    }

    /// Makes sure that the consumer is woken at `moment` or slightly earlier.
    func ring(at moment: Duration, now: Duration) {
        let mustSchedule = state.withLock { state in
            guard !state.isStopped else { return false }
            if let rings = state.rings, rings <= moment { return false }
            state.rings = moment
            return true
        }
        guard mustSchedule else { return }
        // Outside the lock: a timeline may hold a lock of its own while it calls.
        let timer = timeline.schedule(after: moment - now) { [weak self] in self?.fired() }
        let superfluous: RadioActivity? = state.withLock { state in
            // A timer that has fired already isn't kept, and neither is one of a stopped alarm.
            guard state.rings == moment, !state.isStopped else { return timer }
            defer { state.timer = timer }
            return state.timer
        }
        superfluous?.cancel()
    }

    private func fired() {
        state.withLock { $0.rings = nil }
        waker.wake()
    }

    /// Cancels the timer; nothing rings after that.
    func stop() {
        let timer = state.withLock { state in
            state.isStopped = true
            return state.timer.take()
        }
        timer?.cancel()
    }
}
