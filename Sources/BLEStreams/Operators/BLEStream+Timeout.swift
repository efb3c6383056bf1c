import BLEProtocol
public import BLERadio

/// What a time limit applies to.
public enum TimeoutScope: Hashable, Sendable {
    /// Each wait for a value, including the first one. Time that the consumer spends elsewhere doesn't count.
    ///
    /// An operator behind this one that looks for the next value before it delivers one, such as
    /// ``BLEStream/buffered(_:)``, ``BLEStream/batched(atMost:)``, ``BLEStream/throttle(for:)`` or
    /// ``BLEStream/merge(with:)``, begins the wait itself: then that time counts. Put the limit behind such an operator
    /// if the consumer may be busy for longer.
    case eachValue
    /// The wait for the first value only.
    case firstValue
    /// The whole iteration, from its start to its end.
    case wholeStream
}

extension BLEStream {
    /// Fails when no value arrives in time.
    ///
    /// One timer serves the whole iteration; delivering a waiting element doesn't read the clock, unless the whole
    /// stream is limited.
    ///
    /// - Parameters:
    ///   - limit: how long to wait, on the clock of the stream's radio.
    ///   - scope: what the limit applies to; by default each wait for a value.
    /// - End: with the upstream.
    /// - Throw: ``BLEError/Code/timedOut`` with the operation and the received part of a message, or, if it is behind
    ///   several streams, with each of theirs in ``BLEError/receivedParts``; an error of the upstream passes. An
    ///   element that is waiting when the limit is checked is delivered, unless the whole stream is limited.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    @inlinable
    public func timeout(_ limit: Duration, for scope: TimeoutScope = .eachValue) -> BLEStream<Element> {
        let (timeline, subject) = (timeline, subject)
        return lift { upstream, waker in
            let limit = TimeLimit(limit, scope, subject: subject, timeline: timeline, waker: waker)
            return Cursor(
                poll: {
                    if scope == .wholeStream, limit.isOver() { throw limit.error(upstream.unfinished(.all)) }
                    let polled = try upstream.poll()
                    switch polled {
                    case .element: limit.valueCame()
                    // If the task is cancelled, the upstream may have given up because of that, and have more for
                    // another consumer of a shared stream.
                    case .pending where limit.isOverWhenWaiting() && !Task.isCancelled:
                        throw limit.error(upstream.unfinished(.all))
                    case .pending, .gap, .end: break
                    }
                    return polled
                },
                unfinished: upstream.unfinished,
                used: upstream.used,
                place: upstream.place,
                stop: upstream.stop,
                close: {
                    limit.stop()
                    upstream.close()
                }
            )
        }
    }
}

/// Watches the time of one iteration.
@usableFromInline
final class TimeLimit {
    private let limit: Duration
    private let scope: TimeoutScope
    private let subject: StreamSubject
    private let timeline: any Timeline
    private let alarm: Alarm
    private var deadline: Duration?
    private var isWatching = true

    @usableFromInline
    init(
        _ limit: Duration,
        _ scope: TimeoutScope,
        subject: StreamSubject,
        timeline: any Timeline,
        waker: Waker
    ) {
        self.limit = limit
        self.scope = scope
        self.subject = subject
        self.timeline = timeline
        alarm = Alarm(timeline: timeline, waker: waker)
        if scope != .eachValue { deadline = timeline.now + limit }
    }

    /// Whether the limit of the whole stream has passed, even if an element is waiting.
    @usableFromInline
    func isOver() -> Bool {
        guard let deadline else { return false }
        return timeline.now >= deadline
    }

    /// Whether the limit has passed while nothing is waiting; if not, the consumer will be woken when it does.
    @usableFromInline
    func isOverWhenWaiting() -> Bool {
        guard isWatching else { return false }
        let now = timeline.now
        let deadline = deadline ?? now + limit
        guard now < deadline else { return true }
        self.deadline = deadline
        alarm.ring(at: deadline, now: now)
        return false
    }

    @usableFromInline
    func valueCame() {
        switch scope {
        case .eachValue: deadline = nil
        case .firstValue: isWatching = false
        case .wholeStream: break
        }
    }

    @usableFromInline
    func stop() { alarm.stop() }

    @usableFromInline
    func error(_ parts: UnfinishedParts) -> any Error {
        var error = BLEError.timedOut(
            subject.operation,
            object: subject.object,
            after: limit,
            waitingFor: scope == .wholeStream ? "the stream did not end" : "no value came"
        )
        if scope != .wholeStream, subject.operation == StreamSubject.scan { error.remedy = BLEError.remedyOfVainScan }
        error.handOut(parts)
        return error
    }
}
