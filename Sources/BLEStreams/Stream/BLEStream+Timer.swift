public import BLERadio

extension BLEStream<Void> {
    /// One element after a delay, and then the end.
    ///
    /// ```swift
    /// let start = link.notifications(of: .heartRateMeasurement).take(until: .timer(after: .seconds(10)))
    /// ```
    ///
    /// - Parameters:
    ///   - delay: the time from the start of the iteration; zero or less: immediately.
    ///   - timeline: the clock; real time by default. In virtual time, pass that timeline.
    /// - End: after its element. It never throws.
    /// - Cancellation and an early `break` stop the timer.
    public static func timer(after delay: Duration, timeline: any Timeline = RealTimeline()) -> BLEStream<Void> {
        BLEStream<Void>(StreamSubject(operation: "timer", object: "after \(delay)"), timeline: timeline) { waker in
            let alarm = Alarm(timeline: timeline, waker: waker)
            let due = timeline.now + delay
            var isOver = false
            return Cursor(
                poll: {
                    if isOver { return .end }
                    let now = timeline.now
                    guard now >= due else {
                        alarm.ring(at: due, now: now)
                        return .pending
                    }
                    isOver = true
                    return .element(())
                },
                stop: { isOver = true },
                close: alarm.stop
            )
        }
    }
}
