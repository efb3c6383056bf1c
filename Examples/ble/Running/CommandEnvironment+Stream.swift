import BLERadio
import BLEStreams

/// When a stream that doesn't end by itself has been followed for long enough.
struct StreamLimits: Sendable {
    /// What the stream does: `scan`, `notify`.
    let operation: String

    /// How many values are enough; `nil`: they never are.
    let count: Int?

    /// After what time it ends; `nil`: never.
    let time: Duration?

    /// Reads `--count` and `--timeout`.
    init(_ operation: String, _ arguments: Arguments) throws(UsageError) {
        self.operation = operation
        count = try arguments.count("count")
        time = try arguments.seconds("timeout")
    }

    /// How the options are explained.
    static let options = [
        Option("timeout", value: "S", help: "end after S seconds"),
        Option("count", value: "N", help: "end after N items; it is a failure if the time runs out before"),
    ]
}

extension CommandEnvironment {
    /// Takes a stream's values until there are enough of them or the time is over, then prints how many there were.
    ///
    /// - Parameters:
    ///   - limits: when it ends.
    ///   - droppedBefore: how many values were lost before they came to the stream.
    ///   - take: prints a value; whether it counts as one. What has come together leaves in one write.
    ///   - after: what is done with it then, where more are wanted; each value is by itself then.
    /// - Throws: what the stream throws; a `BLEError` when the time was over before there were enough.
    func printAll<Element>(
        _ stream: BLEStream<Element>,
        _ limits: StreamLimits,
        droppedBefore: @autoclosure () -> Int = 0,
        take: (Element) throws -> Bool,
        after: ((Element) async throws -> Void)? = nil
    ) async throws {
        var received = 0
        var dropped = 0
        func end() throws {
            try output.print(.object(("received", .number(received)), ("dropped", .number(dropped))))
            if dropped > 0 { log.say("\(dropped) values were dropped") }
        }
        do {
            let limited = limits.time.map { stream.take(until: .tick(after: $0)) } ?? stream
            for try await batch in limited.batched(atMost: after == nil ? 256 : 1) {
                try output.together {
                    for value in batch where received != limits.count {
                        if try take(value) { received += 1 }
                    }
                }
                // Before the stream is closed: what waits then is of no interest any more, and not lost.
                dropped = stream.counters.dropped + droppedBefore()
                if received == limits.count { break }
                if let after, let last = batch.last { try await after(last) }
            }
        } catch is CancellationError {
            try end()
            throw CancellationError()
        } catch let error as BLEError {
            dropped = stream.counters.dropped + droppedBefore()
            try end()
            throw error
        }
        try end()
        try limits.check(received)
    }
}

extension StreamLimits {
    /// Throws where the time was over before there were enough.
    func check(_ received: Int) throws {
        guard let count, let time, received < count else { return }
        throw BLEError.tooFew(received, of: count, operation, time)
    }
}

extension BLEStream<Void> {
    /// One value, after a while.
    fileprivate static func tick(after duration: Duration) -> BLEStream<Void> {
        let timeline = RealTimeline()
        return BLEStream(timeline: timeline) { feed in
            let timer = timeline.schedule(after: duration) { feed.send(()) }
            return { timer.cancel() }
        }
    }
}

extension BLEError {
    fileprivate static func tooFew(
        _ received: Int,
        of count: Int,
        _ operation: String,
        _ limit: Duration
    ) -> BLEError {
        var error = BLEError(
            .timedOut,
            operation: operation,
            cause: "\(received) of \(count) arrived within \(limit.secondsText)",
            remedy: """
                Check that the device is in range and sends, or allow more time with --timeout. If a scan finds no device \
                at all, switch the adapter off and on with `ble adapter cycle`.
                """
        )
        error.elapsed = limit
        return error
    }
}
