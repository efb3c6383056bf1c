public import BLEProtocol
import BLERadio
import Synchronization

extension BLEStream {
    /// Who is there: groups the elements by key, and tells who comes, who is still there and who has fallen silent.
    ///
    /// ```swift
    /// struct Report: Sendable { var name: String, celsius: Double }
    /// let reports = BLEStream([Report(name: "kitchen", celsius: 21.5)])
    /// for try await event in reports.presence(by: \.name, timeout: .seconds(30)) {
    ///     switch event {
    ///     case .enter(let name, let report): print(name, "is there:", report.celsius)
    ///     case .update(let name, let report): print(name, report.celsius)
    ///     case .leave(let name, _): print(name, "has fallen silent")
    ///     }
    /// }
    /// ```
    ///
    /// Each key's silence is counted from when the consumer's task sees its last element; nobody leaves while elements wait,
    /// which may be theirs. One timer serves all keys.
    ///
    /// At most `limit` keys are followed at once. Who comes when so many are there is ignored until somebody leaves, so that
    /// a flood of new keys can't displace those that are known. Each element that is ignored counts as dropped in
    /// ``counters``, and is a gap that ``withGaps()`` shows.
    ///
    /// - Parameters:
    ///   - key: whose element it is.
    ///   - timeout: the silence after which a key leaves.
    ///   - limit: how many keys are followed at once at most, 1 or more; 4096 unless said otherwise.
    /// - End: with the upstream. Who is there then doesn't leave.
    /// - Throw: an error of the upstream passes, one of `key` ends the stream with it. Behind ``retry(_:when:)`` nobody is
    ///   forgotten while the upstream starts afresh.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func presence<Key: Hashable & Sendable>(
        by key: @escaping @Sendable (Element) throws -> Key,
        timeout: Duration,
        limit: Int = 4096
    ) -> BLEStream<Presence<Key, Element>> {
        precondition(limit >= 1, "at least one key must have room")
        let (open, count, timeline) = (open, count, timeline)
        let ignored = Ignored()
        return BLEStream<Presence<Key, Element>>(
            subject,
            timeline: timeline,
            count: { ignored.added(to: count()) },
            open: { waker in
                let upstream = open(waker)
                let alarm = Alarm(timeline: timeline, waker: waker)
                let watch = PresenceWatch(upstream, key, timeout: timeout, limit: limit, timeline, alarm, ignored.add)
                return Cursor(
                    poll: watch.poll,
                    unfinished: upstream.unfinished,
                    stop: upstream.stop,
                    close: {
                        alarm.stop()
                        upstream.close()
                    }
                )
            }
        )
    }
}

extension BLEStream<Discovery> {
    /// Who is nearby: tells who is heard for the first time, who is heard again and who isn't heard any more.
    ///
    /// ```swift
    /// for try await event in central.scan(duplicates: true).presence(timeout: .seconds(30)) {
    ///     if case .leave(let address, _) = event { print(address, "has gone") }
    /// }
    /// ```
    ///
    /// The scan must report duplicates, else each peripheral is heard once only. A peripheral that changes its address now
    /// and then is somebody new each time; ``presence(by:timeout:limit:)`` follows it by something else that it sends.
    ///
    /// - Parameters, end, throw, cancellation and an early `break`: as with ``presence(by:timeout:limit:)``.
    public func presence(
        timeout: Duration,
        limit: Int = 4096
    ) -> BLEStream<Presence<BluetoothAddress, Discovery>> {
        presence(by: \.address, timeout: timeout, limit: limit)
    }
}

/// How many elements were ignored, in all iterations of a stream.
private final class Ignored: Sendable {
    private let number = Atomic(0)

    func add() { number.add(1, ordering: .relaxed) }

    /// The counters of what comes before, where those who were ignored were delivered.
    func added(to counters: StreamCounters) -> StreamCounters {
        let number = number.load(ordering: .relaxed)
        // A source without a buffer counts nothing.
        let counted = min(number, counters.delivered)
        var counters = counters
        counters.received += number - counted
        counters.delivered -= counted
        counters.dropped += number
        return counters
    }
}
