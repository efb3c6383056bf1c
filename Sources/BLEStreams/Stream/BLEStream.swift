public import BLERadio

/// A cold stream of values: the observable of this package.
///
/// A `BLEStream` is a description. Nothing happens before it is iterated. Each iteration starts afresh (it starts a
/// scan, or switches notifications on) and undoes that when it ends: after the last element, on an error, on `break`,
/// on cancellation. Because the stream is cold, ``retry(_:when:)`` can subscribe again.
///
/// ```swift
/// for try await beat in link.notifications(of: .heartRateMeasurement).timeout(.seconds(5)) {
///     print(beat.beatsPerMinute)
/// }
/// ```
///
/// Elements are delivered in the consumer's own isolation, and one wake-up delivers all that have arrived. If the
/// consumer is slower than its source, the source's ``BufferPolicy`` applies; a consumer never slows the radio down.
/// ``counters`` can be read at any time.
///
/// - End: the loop ends when the source does. An error is thrown after all elements that came before it.
/// - Cancellation: in a cancelled task, `next()` throws `CancellationError`: immediately if it is waiting, otherwise
///   from the next call, even if there are more elements. Waiting elements are dropped and counted.
public struct BLEStream<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = any Error

    /// The stream's operation, for its errors: `notifications of 2A37`.
    @usableFromInline let subject: StreamSubject

    /// The operators' source of time and randomness.
    @usableFromInline let timeline: any Timeline

    /// Counts the values in the last buffer, or buffers, that they pass.
    @usableFromInline let counting: StreamCounting

    /// Opens one iteration; the waker is called whenever another poll may return something.
    @usableFromInline let open: @Sendable (Waker) -> Cursor<Element>

    @usableFromInline
    init(
        _ subject: StreamSubject,
        timeline: any Timeline,
        counting: StreamCounting = StreamCounting(),
        open: @escaping @Sendable (Waker) -> Cursor<Element>
    ) {
        self.subject = subject
        self.timeline = timeline
        self.counting = counting
        self.open = open
    }

    /// The counts of this stream's values so far, over all iterations, including open ones.
    ///
    /// For a chain of operators, these are the counters of its last buffer: the source's, or that of a later
    /// ``buffered(_:)`` or ``share(replay:buffer:)``. For merged streams, they are the sum, with each of them once,
    /// also if a stream is merged with itself. A stream of given elements has no buffer and counts nothing. They can be
    /// read from anywhere:
    ///
    /// ```swift
    /// let beats = link.notifications(of: .heartRateMeasurement, buffer: .newest(100))
    /// …                                        // elsewhere `beats` is iterated, as it is or behind operators
    /// print("\(beats.counters.dropped) of \(beats.counters.received) dropped")
    /// ```
    public var counters: StreamCounters { counting.counters }

    /// Starts an iteration; the source is opened by the first call of `next()`.
    @inlinable
    public func makeAsyncIterator() -> Iterator { Iterator(open: open) }

    /// One iteration of a ``BLEStream``; releasing it undoes what it started.
    ///
    /// A copy is the same iteration. It has one consumer: a second `next()` while one is waiting traps.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline let iteration: Iteration<Element>

        @inlinable
        init(open: @escaping @Sendable (Waker) -> Cursor<Element>) { iteration = Iteration(open: open) }

        /// The next element; `nil` at the end, which is then final.
        @inlinable
        public mutating func next() async throws -> Element? {
            try await iteration.next()
        }

        /// The next element, delivered in the given isolation; `nil` at the end, which is then final.
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
    /// then on, from any thread. The closure that it returns is called once, when the iteration is over, and undoes
    /// that.
    init(
        _ subject: StreamSubject,
        timeline: any Timeline,
        buffer: BufferPolicy,
        start: @escaping @Sendable (Mailbox<Element>) -> () -> Void
    ) {
        self.init(subject, timeline: timeline, buffer: buffer, suffix: nil) { mailbox, _ in start(mailbox) }
    }

    /// The same for a source that may keep what a consumer has not used for the next one.
    ///
    /// - Parameters:
    ///   - suffix: an element with only as many octets at its end; `nil` if the source keeps nothing.
    ///   - start: is also given the consumer's place; `nil` if the source keeps nothing.
    init(
        _ subject: StreamSubject,
        timeline: any Timeline,
        buffer: BufferPolicy,
        suffix: (@Sendable (Element, Int) -> Element)?,
        start: @escaping @Sendable (Mailbox<Element>, ConsumerPlace?) -> () -> Void
    ) {
        let tally = Tally()
        let open: @Sendable (Waker) -> Cursor<Element> = { waker in
            let mailbox = Mailbox<Element>(policy: buffer, waker: waker, subject: subject, tally: tally)
            let place = suffix == nil ? nil : ConsumerPlace(of: waker)
            var cursor = mailbox.cursor(onClose: start(mailbox, place), suffix: suffix)
            cursor.place = place
            return cursor
        }
        self.init(subject, timeline: timeline, counting: StreamCounting(tally), open: open)
    }

    /// A stream whose cursor is made from this stream's.
    @inlinable
    func lift<Output: Sendable>(
        _ make: @escaping @Sendable (Cursor<Element>, Waker) -> Cursor<Output>
    ) -> BLEStream<Output> {
        let open = open
        return BLEStream<Output>(subject, timeline: timeline, counting: counting) { waker in
            make(open(waker), waker)
        }
    }
}

/// A stream's operation and its object; they begin its errors.
@usableFromInline
struct StreamSubject: Sendable {
    /// The operation: `scan`, `notifications`.
    var operation: String
    /// The object: `2A37 of C4:F2:17:1A:1D:BB`.
    var object: String = ""

    /// The operation of a scan.
    static let scan = "scan"

    /// The operation of what centrals write.
    static let writes = "writes"
}
