public import BLERadio

extension BLEStream {
    /// A stream of the given elements, which then ends.
    ///
    /// Operators chained to it use `timeline` as their clock.
    @inlinable
    public init(_ elements: some Sequence<Element> & Sendable, timeline: any Timeline = RealTimeline()) {
        self.init(.values, timeline: timeline) { _ in
            var iterator = elements.makeIterator()
            var isOver = false
            return Cursor(
                poll: { isOver ? .end : iterator.next().map(Polled.element) ?? .end },
                stop: { isOver = true },
                close: {}
            )
        }
    }

    /// A stream that the program feeds; each iteration calls the closure with its own ``Feed``.
    ///
    /// The closure is called in the consumer's context when the iteration starts, and must not block. The closure it
    /// returns is called once when the iteration is over, for any reason.
    public init(
        buffer: BufferPolicy = .standard,
        timeline: any Timeline = RealTimeline(),
        start: @escaping @Sendable (Feed) -> @Sendable () -> Void
    ) {
        self.init(.values, timeline: timeline, buffer: buffer) { mailbox in start(Feed(mailbox: mailbox)) }
    }

    /// Puts values into one iteration of a stream; may be used from anywhere, and never waits.
    public struct Feed: Sendable {
        fileprivate let mailbox: Mailbox<Element>

        /// Adds a value; after the end it is dropped.
        public func send(_ element: Element) { mailbox.send(element) }

        /// Adds several values, with one wake-up of the consumer; after the end they are dropped.
        public func send(contentsOf elements: some Collection<Element>) { mailbox.send(contentsOf: elements) }

        /// Records that nothing could be received for some time, until now; ``BLEStream/withGaps()`` shows it.
        public func interrupted(by reason: any Error, for duration: Duration) {
            mailbox.interrupted(by: reason, for: duration)
        }

        /// Records that values were dropped before they arrived here; they are counted, and ``BLEStream/withGaps()``
        /// shows them.
        public func lost(_ count: Int) { mailbox.lost(count) }

        /// Ends the iteration after the values added so far, with an error or without.
        public func finish(throwing error: (any Error)? = nil) { mailbox.finish(throwing: error) }

        /// What has happened to the values of this iteration so far.
        public var counters: StreamCounters { mailbox.counters }
    }

    /// The same stream as a plain `AsyncThrowingStream`, for code that needs that type.
    ///
    /// ```swift
    /// for try await beat in link.notifications(of: .heartRateMeasurement).asyncThrowingStream() {
    ///     print(beat.beatsPerMinute)
    /// }
    /// ```
    ///
    /// The first call of `next()` opens the source. It can be iterated once, and costs an executor hop for each
    /// element, unlike iterating the `BLEStream` itself.
    ///
    /// It throws what the `BLEStream` throws, and `CancellationError` when its task is cancelled while it waits. In a
    /// task that was cancelled between two elements, that type ends the loop without an error, unlike a `BLEStream`:
    /// `try Task.checkCancellation()` behind the loop tells this from the end. Both close the source at once.
    ///
    /// After a `break` the source is closed as soon as nothing holds the stream: immediately if the stream is made in
    /// the `for` statement, at the end of a variable's lifetime if it is kept in one.
    public func asyncThrowingStream() -> AsyncThrowingStream<Element, any Error> {
        let pump = Pump(open: open)
        return AsyncThrowingStream { try await pump.next() }
    }

    /// Gives one iteration its own isolation.
    private actor Pump {
        private let iteration: Iteration<Element>

        init(open: @escaping @Sendable (Waker) -> Cursor<Element>) { iteration = Iteration(open: open) }

        func next() async throws -> Element? { try await iteration.next() }
    }
}

extension StreamSubject {
    /// The subject of streams that a program makes itself.
    @usableFromInline static let values = StreamSubject(operation: "values")
}
