/// The end of a chain of operators, where the consumer waits.
final class Iteration<Element: Sendable> {
    private enum State {
        case unopened(@Sendable (Waker) -> Cursor<Element>)
        case open(Cursor<Element>)
        case ended
    }

    private var state: State
    private let waker = Waker()
    private var waiter: AsyncThrowingStream<Void, any Error>.Iterator

    init(open: @escaping @Sendable (Waker) -> Cursor<Element>) {
        state = .unopened(open)
        waiter = waker.makeWaiter()
    }

    func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
        let cursor: Cursor<Element>
        switch state {
        case .ended: return nil
        case .open(let opened): cursor = opened
        case .unopened(let open):
            try Task.checkCancellation()
            cursor = open(waker)
            state = .open(cursor)
        }
        do {
            while true {
                // Before polling, so that what comes in between rings again.
                waker.reset()
                switch try cursor.poll() {
                case .element(let element): return element
                case .end:
                    end(cursor)
                    return nil
                case .pending: break
                }
                // The bell ends only when the waiting task is cancelled.
                guard try await waiter.next(isolation: actor) != nil else { throw CancellationError() }
            }
        } catch {
            end(cursor)
            throw error
        }
    }

    private func end(_ cursor: Cursor<Element>) {
        state = .ended
        cursor.close()
    }

    deinit {
        if case .open(let cursor) = state { cursor.close() }
    }
}
