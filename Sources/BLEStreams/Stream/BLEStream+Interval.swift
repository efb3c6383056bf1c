public import BLERadio

extension BLEStream<Int> {
    /// The numbers from 0 on, one each time when a period is over: for what is to be done regularly.
    ///
    /// ```swift
    /// for try await _ in BLEStream.interval(.seconds(60)) {
    ///     print(try await link.read(BluetoothUUID.Characteristics.batteryLevel))
    /// }
    /// ```
    ///
    /// The moments are fixed by the start of the iteration and don't drift. A consumer that is busy past several of them
    /// gets the last one only, at once: the numbers tell how many it has missed.
    ///
    /// - Parameters:
    ///   - period: the time from one number to the next, and to the first one; more than zero.
    ///   - timeline: the clock that counts; the real one unless said otherwise. In virtual time: that time.
    /// - End: never. It never throws.
    /// - Cancellation and an early `break` stop the timer.
    public static func interval(_ period: Duration, timeline: any Timeline = RealTimeline()) -> BLEStream<Int> {
        precondition(period > .zero, "a period takes time")
        return BLEStream<Int>(StreamSubject(operation: "interval", object: "of \(period)"), timeline: timeline) {
            waker in
            let alarm = Alarm(timeline: timeline, waker: waker)
            let start = timeline.now
            // How many periods the consumer knows to be over.
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
