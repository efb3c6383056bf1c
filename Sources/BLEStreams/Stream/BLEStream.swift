import BLERadio

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
/// that is slower than its source meets the ``BufferPolicy`` of that source; it never slows the radio down.
///
/// - End: the loop ends when the source does. An error is thrown after all elements that came before it.
/// - Cancellation: a consuming task that is cancelled while it waits gets `CancellationError` at once.
public struct BLEStream<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = any Error

    /// What the stream does, for its errors: `notifications of 2A37`.
    let subject: StreamSubject

    /// Where the operators take time and chance from.
    let timeline: any Timeline

    /// Opens one iteration; the waker is called whenever polling it again may bring something.
    let open: @Sendable (Waker) -> Cursor<Element>

    init(
        _ subject: StreamSubject,
        timeline: any Timeline,
        open: @escaping @Sendable (Waker) -> Cursor<Element>
    ) {
        self.subject = subject
        self.timeline = timeline
        self.open = open
    }

    /// Starts an iteration; the source is opened by the first call of `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(open: open) }

    /// One iteration of a ``BLEStream``; letting go of it ends what it started.
    public struct Iterator: AsyncIteratorProtocol {
        private let iteration: Iteration<Element>

        fileprivate init(open: @escaping @Sendable (Waker) -> Cursor<Element>) {
            iteration = Iteration(open: open)
        }

        /// The next element; `nil` at the end, which is then final.
        public mutating func next() async throws -> Element? {
            try await iteration.next(isolation: #isolation)
        }

        /// The next element, handed out in the given isolation; `nil` at the end, which is then final.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            try await iteration.next(isolation: actor)
        }
    }
}

@available(*, unavailable)
extension BLEStream.Iterator: Sendable {}

/// What a stream does and on what; the beginning of its errors.
struct StreamSubject: Sendable {
    /// The operation: `scan`, `notifications`.
    var operation: String
    /// What it is done on: `2A37 of C4:F2:17:1A:1D:BB`.
    var object: String = ""
}
