import BLEProtocol
import BLERadio
import Synchronization

/// What a time limit counts.
public enum TimeoutScope: Hashable, Sendable {
    /// Each wait for a value, the first one included. The time in which the consumer does something else is its own.
    case eachValue
    /// The wait for the first value only.
    case firstValue
    /// The whole iteration, from its start to its end.
    case wholeStream
}

extension BLEStream {
    /// Fails when nothing comes for too long.
    ///
    /// One timer serves the whole iteration; an element that is there already costs no look at the clock.
    ///
    /// - Parameters:
    ///   - limit: how long to wait, on the clock of the stream's radio.
    ///   - scope: what the limit counts; each wait for a value unless said otherwise.
    /// - Throws: ``BLEError/Code/timedOut`` with the operation and what had been received; an error of the upstream
    ///   passes. End: with the upstream. Cancellation and an early `break` close the upstream and stop the timer.
    public func timeout(_ limit: Duration, for scope: TimeoutScope = .eachValue) -> BLEStream<Element> {
        let timeline = timeline
        let subject = subject
        return lift { upstream, waker in
            let alarm = Alarm(timeline: timeline, waker: waker)
            let close = upstream.close
            var deadline = scope == .eachValue ? nil : timeline.now + limit
            var isWatching = true
            func expired(_ now: Duration) -> BLEError {
                let waitingFor = scope == .wholeStream ? "it did not end" : "no value came"
                var error = BLEError.timedOut(
                    subject.operation,
                    object: subject.object,
                    after: limit,
                    waitingFor: waitingFor
                )
                error.received = upstream.unfinished()
                upstream.close()
                return error
            }
            return Cursor(
                poll: {
                    if scope == .wholeStream, let deadline, timeline.now >= deadline { throw expired(deadline) }
                    let polled = try upstream.poll()
                    guard isWatching, case .pending = polled else {
                        switch scope {
                        case .eachValue: deadline = nil
                        case .firstValue: isWatching = false
                        case .wholeStream: break
                        }
                        return polled
                    }
                    let now = timeline.now
                    let until = deadline ?? now + limit
                    guard now < until else { throw expired(now) }
                    deadline = until
                    alarm.ring(at: until, now: now)
                    return .pending
                },
                unfinished: upstream.unfinished
            ) {
                alarm.stop()
                close()
            }
        }
    }
}

/// Wakes a consumer at a moment; set again before it rings, it keeps its one timer and looks again when that fires.
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

    /// Makes sure that the consumer is woken at `moment` or somewhat before.
    func ring(at moment: Duration, now: Duration) {
        let mustSchedule = state.withLock { state in
            guard !state.isStopped else { return false }
            if let rings = state.rings, rings <= moment { return false }
            state.rings = moment
            return true
        }
        guard mustSchedule else { return }
        let timer = timeline.schedule(after: moment - now) { [weak self] in self?.fired() }
        let (old, isStopped) = state.withLock { state in
            let old = state.timer
            // A timer that fired before it was stored needs no keeping.
            state.timer = state.rings == moment ? timer : nil
            return (old, state.isStopped)
        }
        old?.cancel()
        if isStopped { timer.cancel() }
    }

    private func fired() {
        state.withLock { $0.rings = nil }
        waker.wake()
    }

    func stop() {
        let timer = state.withLock { state in
            state.isStopped = true
            return state.timer.take()
        }
        timer?.cancel()
    }
}
