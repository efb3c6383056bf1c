import BLERadio
import BLEStreams

/// When to stop following a stream that doesn't end by itself.
struct StreamLimits: Sendable {
    /// The operation of the stream: `scan`, `notify`.
    let operation: String

    /// What it concerns, such as `2A37 of C4:F2:17:1A:1D:BB`.
    private let object: String

    /// What to do if too few values arrive in time.
    private let remedy: String

    /// The number of values after which it ends; `nil`: no limit.
    let count: Int?

    /// The time after which it ends; `nil`: no limit.
    let time: Duration?

    /// When the time is over, if it has begun to run before the stream.
    private var end: Deadline?

    /// What helps with most streams, over a link or without one.
    static let usualRemedy = "Check that the device is in range and sends, or allow more time with --timeout."

    /// Reads `--count` and `--timeout`.
    ///
    /// - Parameters:
    ///   - object: what the stream concerns.
    ///   - remedy: what to do if too few values arrive in time.
    init(
        _ operation: String,
        _ arguments: Arguments,
        about object: String = "",
        remedy: String = usualRemedy
    ) throws(UsageError) {
        (self.operation, self.object, self.remedy) = (operation, object, remedy)
        count = try arguments.count("count")
        time = try arguments.seconds("timeout")
    }

    /// The same limits, whose time runs from now on: connecting takes a part of it.
    func begun() -> StreamLimits {
        var limits = self
        limits.end = time.map { Deadline(in: $0) }
        return limits
    }

    /// The time left.
    var remaining: Duration? { end?.remaining ?? time }

    /// How long one of the first steps of a stream may take: as long as is usual, or, if the stream may take longer, a
    /// little longer than that, so that the limit of the stream ends it.
    func patience(of usual: Duration) -> Duration { max(usual, (time ?? .zero) + .seconds(1)) }

    /// The options and their help.
    static let options = [
        Option("timeout", value: "S", help: "end after S seconds"),
        Option("count", value: "N", help: "end after N items; it is a failure if the time runs out before"),
    ]
}

/// What became of an element of a stream.
enum Taken {
    /// It was a value, and has been printed.
    case value
    /// It was none; this is to be said about it.
    case remark(String)
}

extension CommandEnvironment {
    /// Takes a stream's values until there are enough or the time is over, then prints how many there were.
    ///
    /// - Parameters:
    ///   - limits: when it ends.
    ///   - droppedBefore: how many values were lost before they reached the stream.
    ///   - take: prints an element, without waiting for anything: it runs on the thread that reads the links, which
    ///     saves two changes of thread for each. Values that arrived together leave in one write.
    ///   - after: called after a value if more are wanted; then each value is written by itself, on any thread.
    /// - Throws: what the stream throws; a `BLEError` if the time is over before there are enough values;
    ///   ``OutputClosed`` if the reader of the results has left.
    func printAll<Element>(
        _ stream: BLEStream<Element>,
        _ limits: StreamLimits,
        droppedBefore: @autoclosure () -> Int = 0,
        take: (Element) throws -> Taken,
        after: ((Element) async throws -> Void)? = nil
    ) async throws {
        var received = 0
        var dropped = 0
        func end() throws {
            defer { if dropped > 0 { log.say("\(dropped) values were dropped") } }
            try output.print(.object(("received", .number(received)), ("dropped", .number(dropped))))
        }
        do {
            let limited = limits.remaining.map { stream.take(until: .tick(after: $0)) } ?? stream
            let radio = after == nil ? central.executor : nil
            // A simulation has no thread of its own, and its time stands still only for what runs in it.
            let elsewhere: (any TaskExecutor)? = radio == nil ? nil : globalConcurrentExecutor
            try await withTaskExecutorPreference(radio) {
                for try await batch in output.whileRead(limited.batched(atMost: after == nil ? 256 : 1)) {
                    var rest = batch[...]
                    while !rest.isEmpty, received != limits.count {
                        let remark = try await output.together(waitingOn: elsewhere) { () throws -> String? in
                            while received != limits.count, let element = rest.popFirst() {
                                switch try take(element) {
                                case .value: received += 1
                                case .remark(let text): return text
                                }
                            }
                            return nil
                        }
                        if let remark { await withTaskExecutorPreference(elsewhere) { log.say(remark) } }
                    }
                    // Before the stream is closed: what still waits then isn't wanted any more, so it isn't lost.
                    dropped = stream.counters.dropped + droppedBefore()
                    if received == limits.count { break }
                    if let after, let last = batch.last { try await after(last) }
                }
            }
        } catch is CancellationError {
            print(despite: CancellationError()) { try end() }
            throw CancellationError()
        } catch let error as BLEError {
            dropped = stream.counters.dropped + droppedBefore()
            print(despite: error) { try end() }
            throw error
        }
        do {
            try limits.check(received)
        } catch {
            print(despite: error) { try end() }
            throw error
        }
        try end()
    }
}

extension StreamLimits {
    /// Throws if the time was over before there were enough values.
    func check(_ received: Int) throws {
        guard let count, let time, received < count else { return }
        var error = BLEError(
            .timedOut,
            operation: operation,
            object: object,
            cause: "\(received) of \(count) arrived within \(time.secondsText)",
            remedy: remedy
        )
        error.elapsed = time
        throw error
    }
}

extension BLEStream<Void> {
    /// One value, after a delay.
    fileprivate static func tick(after duration: Duration) -> BLEStream<Void> {
        let timeline = RealTimeline()
        return BLEStream(timeline: timeline) { feed in
            let timer = timeline.schedule(after: duration) { feed.send(()) }
            return { timer.cancel() }
        }
    }
}
