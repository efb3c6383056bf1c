public import BLERadio

/// A cold stream of values: the observable of this package.
///
/// A `BLEStream` is a description. Nothing happens before it is iterated; each iteration starts afresh (a scan is
/// started, notifications are switched on) and, when it ends, undoes what it started: on the last element, on an
/// error, on `break`, on cancellation. Being cold is what lets ``retry(_:when:)`` subscribe again.
///
/// ```swift
/// for try await beat in link.notifications(of: .heartRateMeasurement).timeout(.seconds(5)) {
///     print(beat.beatsPerMinute)
/// }
/// ```
///
/// Elements are handed out in the consumer's own isolation, and one wake-up brings all that has arrived. A consumer
/// that is slower than its source meets the ``BufferPolicy`` of that source; it never slows the radio down. What
/// becomes of the values can be read at any time: ``counters``.
///
/// - End: the loop ends when the source does. An error is thrown after all elements that came before it.
/// - Cancellation: a consuming task that is cancelled gets `CancellationError` from `next()`, at once where it waits,
///   else from the next call, whether there are more elements or not. What waited is dropped, and counted.
public struct BLEStream<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = any Error

    /// What the stream does, for its errors: `notifications of 2A37`.
    @usableFromInline let subject: StreamSubject

    /// Where the operators take time and chance from.
    @usableFromInline let timeline: any Timeline

    /// Reads the counters of the buffer, or buffers, that the values come through last.
    @usableFromInline let count: @Sendable () -> StreamCounters

    /// Opens one iteration; the waker is called whenever polling it again may bring something.
    @usableFromInline let open: @Sendable (Waker) -> Cursor<Element>

    @usableFromInline
    init(
        _ subject: StreamSubject,
        timeline: any Timeline,
        count: @escaping @Sendable () -> StreamCounters = { StreamCounters() },
        open: @escaping @Sendable (Waker) -> Cursor<Element>
    ) {
        self.subject = subject
        self.timeline = timeline
        self.count = count
        self.open = open
    }

    /// What has happened to the values so far, in all iterations of this stream, open ones included.
    ///
    /// Of a chain of operators these are the counters of the last buffer in it: that of the source, or of
    /// ``buffered(_:)`` or ``share(replay:buffer:)`` behind it. Of merged streams it is their sum. A stream of given
    /// elements has no buffer, and counts nothing. May be read from anywhere:
    ///
    /// ```swift
    /// let beats = link.notifications(of: .heartRateMeasurement, buffer: .newest(100))
    /// …                                        // elsewhere `beats` is iterated, as it is or behind operators
    /// print("\(beats.counters.dropped) of \(beats.counters.received) dropped")
    /// ```
    public var counters: StreamCounters { count() }

    /// Starts an iteration; the source is opened by the first call of `next()`.
    @inlinable
    public func makeAsyncIterator() -> Iterator { Iterator(open: open) }

    /// One iteration of a ``BLEStream``; letting go of it ends what it started.
    ///
    /// A copy is the same iteration. It is one consumer's: a second `next()` while one waits traps.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let iteration: Iteration<Element>

        @inlinable
        init(open: @escaping @Sendable (Waker) -> Cursor<Element>) { iteration = Iteration(open: open) }

        /// The next element; `nil` at the end, which is then final.
        @inlinable
        public mutating func next() async throws -> Element? {
            try await iteration.next()
        }

        /// The next element, handed out in the given isolation; `nil` at the end, which is then final.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            try await iteration.next()
        }
    }
}

@available(*, unavailable)
extension BLEStream.Iterator: Sendable {}

extension BLEStream {
    /// A stream whose values come through a buffer; the base of all sources.
    ///
    /// `start` is called when an iteration begins, in the consumer's context, and puts values into the mailbox from
    /// then on, from anywhere. What it returns is called once, when the iteration is over, and undoes that.
    init(
        _ subject: StreamSubject,
        timeline: any Timeline,
        buffer: BufferPolicy,
        start: @escaping @Sendable (Mailbox<Element>) -> () -> Void
    ) {
        let tally = Tally()
        let open: @Sendable (Waker) -> Cursor<Element> = { waker in
            let mailbox = Mailbox<Element>(policy: buffer, waker: waker, subject: subject, tally: tally)
            return mailbox.cursor(onClose: start(mailbox))
        }
        self.init(subject, timeline: timeline, count: { tally.counters }, open: open)
    }

    /// A stream whose cursor is made from this one's.
    @inlinable
    func lift<Output: Sendable>(
        _ make: @escaping @Sendable (Cursor<Element>, Waker) -> Cursor<Output>
    ) -> BLEStream<Output> {
        let open = open
        return BLEStream<Output>(subject, timeline: timeline, count: count) { waker in make(open(waker), waker) }
    }
}

/// What a stream does and on what; the beginning of its errors.
@usableFromInline
struct StreamSubject: Sendable {
    /// The operation: `scan`, `notifications`.
    var operation: String
    /// What it is done on: `2A37 of C4:F2:17:1A:1D:BB`.
    var object: String = ""
}
