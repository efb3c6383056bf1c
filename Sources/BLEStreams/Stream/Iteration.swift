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
            var isListening = false
            while true {
                switch try poll() {
                case .element(let element): return element
                case .gap: break
                case .end:
                    end()
                    return nil
                case .pending where isListening:
                    try await waker.wait()
                    isListening = false
                case .pending:
                    waker.listen()
                    isListening = true
                }
            }
        } catch {
            end()
            throw error
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
