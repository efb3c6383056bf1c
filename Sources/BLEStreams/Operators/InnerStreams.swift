/// One iteration of a stream of streams: the upstream, and the inner streams that are open, which take turns.
final class InnerStreams<Element: Sendable, Output: Sendable> {
    private let upstream: Cursor<Element>
    private let width: Int
    private let open: (Element) throws -> Cursor<Output>
    /// The one that is asked next stands first.
    private var inner: [Cursor<Output>] = []
    private var isUpstreamOver = false

    init(_ upstream: Cursor<Element>, width: Int, open: @escaping (Element) throws -> Cursor<Output>) {
        self.upstream = upstream
        self.width = width
        self.open = open
    }

    func poll() throws -> Polled<Output> {
        while true {
            var hasOpened = false
            if inner.count < width, !isUpstreamOver {
                switch try upstream.poll() {
                case .element(let element):
                    // In front of those that had their turn; one at a time, so that it comes before an error behind it.
                    inner.insert(try open(element), at: 0)
                    hasOpened = true
                case .gap(let gap): return .gap(gap)
                case .pending: break
                case .end: endUpstream()
                }
            }
            let count = inner.count
            if let polled = try pollInTurn() { return polled }
            if inner.isEmpty, isUpstreamOver { return .end }
            // The upstream may have more, and one that has ended made room for it. Else all have said `.pending`.
            if !hasOpened, inner.count == count { return .pending }
            if Task.isCancelled { return .pending }
        }
    }

    /// What an inner stream has, each asked once at most; those that have ended are closed.
    private func pollInTurn() throws -> Polled<Output>? {
        for _ in inner.indices {
            // It keeps its place until it has answered: one that throws is closed with the others.
            let polled = try inner[0].poll()
            let cursor = inner.removeFirst()
            switch polled {
            case .element, .gap:
                inner.append(cursor)
                return polled
            case .pending: inner.append(cursor)
            case .end: cursor.close()
            }
        }
        return nil
    }

    /// What was received and belongs to no element, where that can only be one stream's.
    func unfinished() -> [UInt8]? {
        let parts = inner.compactMap { $0.unfinished() }
        return parts.count == 1 ? parts[0] : nil
    }

    /// Opens no more: what waits for its inner stream is dropped.
    func stop() {
        endUpstream()
        for cursor in inner { cursor.stop() }
    }

    private func endUpstream() {
        guard !isUpstreamOver else { return }
        isUpstreamOver = true
        upstream.close()
    }

    func close() {
        endUpstream()
        for cursor in inner { cursor.close() }
        inner = []
    }
}
