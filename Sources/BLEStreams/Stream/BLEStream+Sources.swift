public import BLERadio

extension BLEStream {
    /// A stream of the given elements, which then ends.
    ///
    /// `timeline` is where operators chained to it take their time from.
    public init(_ elements: some Sequence<Element> & Sendable, timeline: any Timeline = RealTimeline()) {
        self.init(StreamSubject(operation: "values"), timeline: timeline) { _ in
            var iterator = elements.makeIterator()
            return Cursor(poll: { iterator.next().map(Polled.element) ?? .end }, close: {})
        }
    }

    /// A stream that a program feeds; each iteration calls the closure with a ``Feed`` of its own.
    ///
    /// The closure is called in the consumer's context when the iteration starts, and must not block. What it returns
    /// is called once when the iteration is over, for whatever reason.
    public init(
        buffer: BufferPolicy = .standard,
        timeline: any Timeline = RealTimeline(),
        start: @escaping @Sendable (Feed) -> @Sendable () -> Void
    ) {
        self.init(StreamSubject(operation: "values"), timeline: timeline) { waker in
            let mailbox = Mailbox<Element>(policy: buffer, waker: waker)
            let stop = start(Feed(mailbox: mailbox))
            return mailbox.cursor(onClose: OnceOnly(stop).run)
        }
    }

    /// Puts values into one iteration of a stream; may be used from anywhere, and never waits.
    public struct Feed: Sendable {
        fileprivate let mailbox: Mailbox<Element>

        /// Puts a value in; after the end it is ignored.
        public func send(_ element: Element) { mailbox.send(element) }

        /// Ends the iteration after the values that are in, with an error or without.
        public func finish(throwing error: (any Error)? = nil) { mailbox.finish(throwing: error) }

        /// What has happened to the values so far.
        public var counters: StreamCounters { mailbox.counters }
    }

    /// The same stream as a plain `AsyncThrowingStream`, for code that wants that type.
    ///
    /// The first call of `next()` opens the source. It may be iterated once, and costs a hop between executors for
    /// each element, which iterating the `BLEStream` itself does not.
    public func asyncThrowingStream() -> AsyncThrowingStream<Element, any Error> {
        let pump = Pump(open: open)
        return AsyncThrowingStream { try await pump.next() }
    }

    /// Gives one iteration an isolation of its own.
    private actor Pump {
        private let iteration: Iteration<Element>

        init(open: @escaping @Sendable (Waker) -> Cursor<Element>) { iteration = Iteration(open: open) }

        func next() async throws -> Element? { try await iteration.next(isolation: self) }
    }
}
