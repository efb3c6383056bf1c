public import BLERadio

extension BLEStream<Int> {
    /// The numbers from 0 on, one after each period: for regular work.
    ///
    /// ```swift
    /// for try await _ in BLEStream.interval(.seconds(60)) {
    ///     print(try await link.read(BluetoothUUID.Characteristics.batteryLevel))
    /// }
    /// ```
    ///
    /// The moments are fixed by the start of the iteration and don't drift. A consumer that misses several of them gets
    /// only the last one, immediately: the numbers show how many it has missed.
    ///
    /// - Parameters:
    ///   - period: the time from one number to the next, and to the first one; more than zero.
    ///   - timeline: the clock; real time by default. In virtual time, pass that timeline.
    /// - End: never. It never throws.
    /// - Cancellation and an early `break` stop the timer.
    public static func interval(_ period: Duration, timeline: any Timeline = RealTimeline()) -> BLEStream<Int> {
        precondition(period > .zero, "the period must be longer than zero")
        return BLEStream<Int>(StreamSubject(operation: "interval", object: "of \(period)"), timeline: timeline) {
            waker in
            let alarm = Alarm(timeline: timeline, waker: waker)
            let start = timeline.now
            // The number of periods that were reported to the consumer.
            var told = 0
            var isStopped = false
            return Cursor(
                poll: {
                    if isStopped { return .end }
                    let now = timeline.now
                    let over = Int(clamping: (now - start).attoseconds / period.attoseconds)
                    guard over > told else {
                        alarm.ring(at: start + period * (told + 1), now: now)
                        return .pending
                    }
                    told = over
                    return .element(over - 1)
                },
                stop: { isStopped = true },
                close: alarm.stop
            )
        }
    }
}
