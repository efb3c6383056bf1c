public import BLEProtocol
import BLERadio
import Synchronization

extension BLEStream {
    /// The presence of keys: groups the elements by key, and reports which keys appear, which are still there and which
    /// have fallen silent.
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
    /// Each key's silence is counted from when the consumer's task sees its last element; no key leaves while elements
    /// are waiting, since they may belong to it, unless a new key needs its place. One timer serves all keys.
    ///
    /// At most `limit` keys are followed at once. Further keys are ignored until one may leave, so that a flood of new
    /// keys can't displace the known ones. Each ignored element counts as dropped in ``counters``, and is a gap that
    /// ``withGaps()`` shows.
    ///
    /// - Parameters:
    ///   - key: the key of an element.
    ///   - timeout: the silence after which a key leaves.
    ///   - limit: the largest number of keys followed at once, 1 or more; 4096 by default.
    /// - End: with the upstream. Keys present at the end don't leave.
    /// - Throw: an error of the upstream passes, one of `key` ends the stream with it. After ``retry(_:when:)``, no key
    ///   is forgotten while the upstream starts again.
    /// - Cancellation and an early `break` close the upstream at once and stop the timer.
    public func presence<Key: Hashable & Sendable>(
        by key: @escaping @Sendable (Element) throws -> Key,
        timeout: Duration,
        limit: Int = 4096
    ) -> BLEStream<Presence<Key, Element>> {
        precondition(limit >= 1, "limit must be at least 1")
        let (open, counting, timeline) = (open, counting, timeline)
        let ignored = Ignored()
        return BLEStream<Presence<Key, Element>>(
            subject,
            timeline: timeline,
            counting: StreamCounting(
                of: [counting, StreamCounting(by: ignored) { ignored.correction(of: counting.counters) }]
            ),
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
    /// The peripherals nearby: reports which are received for the first time, which again, and which no longer.
    ///
    /// ```swift
    /// for try await event in central.scan(duplicates: true).presence(timeout: .seconds(30)) {
    ///     if case .leave(let address, _) = event { print(address, "has gone") }
    /// }
    /// ```
    ///
    /// The scan must report every advertisement, as with `duplicates: true`: a peripheral that repeats what it has sent
    /// is still there. One that changes its address counts as a new one each time; ``presence(by:timeout:limit:)`` can
    /// follow it by other data that it sends.
    ///
    /// - Parameters, end, throw, cancellation and an early `break`: as with ``presence(by:timeout:limit:)``.
    public func presence(
        timeout: Duration,
        limit: Int = 4096
    ) -> BLEStream<Presence<BluetoothAddress, Discovery>> {
        presence(by: \.address, timeout: timeout, limit: limit)
    }
}

/// The number of ignored elements, in all iterations of a stream.
private final class Ignored: Sendable {
    private let number = Atomic(0)

    func add() { number.add(1, ordering: .relaxed) }

    /// What to add to the upstream's counters, which count ignored elements as delivered; here they count as dropped.
    ///
    /// - Parameter counters: the upstream's; read here behind the number, so that none is missing in them.
    func correction(of counters: @autoclosure () -> StreamCounters) -> StreamCounters {
        let number = number.load(ordering: .relaxed)
        // A source without a buffer counts nothing.
        let counted = min(number, counters().delivered)
        var correction = StreamCounters()
        correction.received = number - counted
        correction.delivered = -counted
        correction.dropped = number
        return correction
    }
}
