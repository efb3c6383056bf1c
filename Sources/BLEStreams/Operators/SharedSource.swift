import Synchronization

/// The state that the consumers of a shared stream have in common: at most one iteration of the upstream at a time.
final class SharedSource<Element: Sendable>: Sendable {
    private let replay: Int
    private let open: @Sendable (Waker) -> Cursor<Element>
    /// The one consumer that the upstream has, in all its iterations.
    private let own = Waker()
    private let current = Mutex<SharedIteration<Element>?>(nil)

    init(replay: Int, open: @escaping @Sendable (Waker) -> Cursor<Element>) {
        self.replay = replay
        self.open = open
    }

    /// Adds a consumer to the present iteration, or to a new one.
    func join(_ mailbox: Mailbox<Element>, _ waker: Waker) -> Cursor<Element> {
        let iteration = current.withLock { current in
            if let current, current.add(mailbox, waker) { return current }
            let new = SharedIteration(replay: replay, waker: own, open: open)
            _ = new.add(mailbox, waker)
            current = new
            return new
        }
        let cursor = mailbox.cursor { iteration.remove(mailbox) }
        // Whether it was stopped while another consumer had the upstream, or by one that was cancelled: what has come
        // is yet to be moved here.
        var mustStop = false
        func stop() {
            mustStop = !iteration.drawAll()
            // Who leaves with an error says so when it closes.
            if !mustStop, !iteration.hasFailed, !iteration.stop(for: mailbox) { cursor.stop() }
        }
        return Cursor(
            poll: {
                if mustStop { stop() }
                let polled = try cursor.poll()
                guard case .pending = polled else { return polled }
                iteration.draw()
                return try cursor.poll()
            },
            unfinished: { iteration.unfinished($0, of: mailbox) },
            stop: stop,
            close: cursor.close
        )
    }
}
