/// The end of a chain of operators, where the consumer waits.
@usableFromInline
final class Iteration<Element: Sendable> {
    // Both unchecked: an iteration belongs to one consumer, who calls one function at a time.
    @exclusivity(unchecked)
    @usableFromInline private(set) var isOver = false

    /// Polls the open cursor; `nil` before the start and after the end.
    @exclusivity(unchecked)
    @usableFromInline private(set) var poll: (() throws -> Polled<Element>)?

    private var close: (() -> Void)?
    private let open: (Waker) -> Cursor<Element>
    @usableFromInline let waker = Waker()

    @usableFromInline
    init(open: @escaping @Sendable (Waker) -> Cursor<Element>) { self.open = open }

    @inlinable
    func next() async throws -> Element? {
        guard !isOver else { return nil }
        do {
            // Even if there is always an element: cancellation must also end the iteration of a source that never
            // pauses.
            try Task.checkCancellation()
            let poll = poll ?? begin()
            while true {
                switch try poll() {
                case .element(let element): return element
                case .end:
                    end()
                    return nil
                case .pending where waker.listen():
                    try await waker.wait()
                    // For the next wait, before the poll that finds what has come: one poll less.
                    waker.listen()
                // A source that never pauses and brings only gaps, or wakes by itself each time it is polled, must be
                // possible to cancel, too.
                case .gap, .pending: try Task.checkCancellation()
                }
            }
        } catch {
            end()
            throw error
        }
    }

    /// Calls the closure with each element until the end, with one cancellation handler for all.
    @inlinable
    func receive(_ body: (Element) throws -> Void) async throws {
        defer { end() }
        // The handler runs on any thread, and so captures this alone.
        let waker = waker
        try await withTaskCancellationHandler {
            try Task.checkCancellation()
            let poll = begin()
            while true {
                switch try poll() {
                case .element(let element):
                    try body(element)
                    // As in `next()`: a consumer that was cancelled meanwhile gets no further element.
                    try Task.checkCancellation()
                case .end: return
                case .pending where waker.listen():
                    try await waker.waitWithoutHandler()
                    waker.listen()
                // A source that never pauses and brings only gaps, or wakes by itself each time it is polled, must be
                // possible to cancel, too.
                case .gap, .pending: try Task.checkCancellation()
                }
            }
        } onCancel: {
            waker.cancel()
        }
    }

    /// Opens the source.
    @usableFromInline
    func begin() -> () throws -> Polled<Element> {
        let cursor = open(waker)
        poll = cursor.poll
        close = cursor.close
        return cursor.poll
    }

    /// Undoes what opening did, and releases everything.
    @usableFromInline
    func end() {
        isOver = true
        poll = nil
        close.take()?()
    }

    deinit { end() }
}
