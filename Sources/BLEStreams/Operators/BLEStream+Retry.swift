import BLEProtocol
import BLERadio
import Synchronization

extension BLEStream {
    /// Starts the stream afresh when it fails, after a pause.
    ///
    /// Elements already handed out stay handed out; the new iteration goes on behind them. An element that arrives
    /// resets the count of failures.
    ///
    /// - Parameters:
    ///   - policy: how often, and after what pause.
    ///   - isWorthwhile: whether an error is one that trying again may cure; the default leaves out those that can't
    ///     change, see ``BLEError/isFinal``.
    /// - End: with the upstream. Throw: the last error, when attempts are used up or the error isn't worthwhile.
    /// - Cancellation and an early `break` close the upstream, or stop the pause.
    public func retry(
        _ policy: RetryPolicy = .exponential(),
        when isWorthwhile: @escaping @Sendable (any Error) -> Bool = { ($0 as? BLEError)?.isFinal != true }
    ) -> BLEStream<Element> {
        let open = open
        let timeline = timeline
        return BLEStream(subject, timeline: timeline) { waker in
            let retrying = Retrying(open: open, timeline: timeline, waker: waker)
            return Cursor(
                poll: { try retrying.poll(policy, isWorthwhile) },
                unfinished: { retrying.unfinished() },
                close: retrying.closer.run
            )
        }
    }

    private final class Retrying {
        private enum State {
            case unopened
            case open(Cursor<Element>)
            case pausing(until: Duration)
        }

        let closer: CurrentCloser
        private let openUpstream: @Sendable (Waker) -> Cursor<Element>
        private let timeline: any Timeline
        private let waker: Waker
        private let alarm: Alarm
        private var state = State.unopened
        private var failures = 0

        init(open: @escaping @Sendable (Waker) -> Cursor<Element>, timeline: any Timeline, waker: Waker) {
            openUpstream = open
            self.timeline = timeline
            self.waker = waker
            let alarm = Alarm(timeline: timeline, waker: waker)
            self.alarm = alarm
            closer = CurrentCloser { alarm.stop() }
        }

        func unfinished() -> [UInt8]? {
            guard case .open(let cursor) = state else { return nil }
            return cursor.unfinished()
        }

        func poll(_ policy: RetryPolicy, _ isWorthwhile: (any Error) -> Bool) throws -> Polled<Element> {
            while true {
                switch state {
                case .unopened:
                    let cursor = openUpstream(waker)
                    closer.replace(cursor.close)
                    state = .open(cursor)
                case .pausing(let end):
                    let now = timeline.now
                    guard now >= end else {
                        alarm.ring(at: end, now: now)
                        return .pending
                    }
                    state = .unopened
                case .open(let cursor):
                    do {
                        let polled = try cursor.poll()
                        if case .element = polled { failures = 0 }
                        return polled
                    } catch {
                        cursor.close()
                        failures += 1
                        guard isWorthwhile(error),
                            let delay = policy.delay(afterFailure: failures, random: timeline.randomBits())
                        else { throw error }
                        state = .pausing(until: timeline.now + delay)
                    }
                }
            }
        }
    }
}

/// Closes whatever upstream is open at the moment; for operators that open several, one after the other.
final class CurrentCloser: Sendable {
    private struct State {
        var current: (@Sendable () -> Void)?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let finally: @Sendable () -> Void

    init(finally: @escaping @Sendable () -> Void = {}) { self.finally = finally }

    /// Names the upstream to be closed; closes it at once where the whole is closed already.
    func replace(_ close: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            state.current = close
            return state.isClosed
        }
        if isClosed { close() }
    }

    @Sendable func run() {
        let close = state.withLock { state in
            state.isClosed = true
            return state.current.take()
        }
        close?()
        finally()
    }
}
