/// One iteration of a stream of streams: the upstream, and the open inner streams, which take turns.
final class InnerStreams<Element: Sendable, Output: Sendable> {
    private let upstream: Cursor<Element>
    private let width: Int
    private let open: (Element) throws -> Cursor<Output>
    /// The first one is polled next.
    private var inner: [Cursor<Output>] = []
    private var isUpstreamOver = false
    /// The inner streams that have failed, closed with the others; and the first error, thrown behind what waits.
    private var failed: [Cursor<Output>] = []
    private var failure: (any Error)?

    init(_ upstream: Cursor<Element>, width: Int, open: @escaping (Element) throws -> Cursor<Output>) {
        self.upstream = upstream
        self.width = width
        self.open = open
    }

    func poll() throws -> Polled<Output> {
        while true {
            var hasOpened = false
            if inner.count < width, !isUpstreamOver {
                do {
                    switch try upstream.poll() {
                    case .element(let element):
                        // Before those that had their turn; one at a time, so that it comes before an error that
                        // follows it.
                        inner.insert(try open(element), at: 0)
                        hasOpened = true
                    case .gap(let gap): return .gap(gap)
                    case .pending: break
                    case .end: endUpstream()
                    }
                } catch {
                    fail(with: error)
                }
            }
            let count = inner.count
            if let polled = pollInTurn() { return polled }
            if inner.isEmpty, isUpstreamOver { return try end() }
            // The upstream may have more, and an ended stream has made room for it. Otherwise all have returned
            // `.pending`.
            if !hasOpened, inner.count == count { return try failure == nil ? .pending : end() }
            if Task.isCancelled { return .pending }
        }
    }

    /// Polls each inner stream once at most; those that have ended are closed.
    private func pollInTurn() -> Polled<Output>? {
        for _ in inner.indices {
            let cursor = inner.removeFirst()
            do {
                let polled = try cursor.poll()
                switch polled {
                case .element, .gap:
                    inner.append(cursor)
                    return polled
                case .pending: inner.append(cursor)
                case .end: cursor.close()
                }
            } catch {
                failed.append(cursor)
                fail(with: error)
            }
        }
        return nil
    }

    /// No more are opened, those that are open receive no more, and what they have comes before the error. What has
    /// failed is closed when all is.
    private func fail(with error: any Error) {
        guard failure == nil else { return }
        failure = error
        // Not closed yet: it may be the one that has failed.
        isUpstreamOver = true
        upstream.stop()
        for cursor in inner { cursor.stop() }
    }

    private func end() throws -> Polled<Output> {
        if let failure { throw failure }
        return .end
    }

    /// Octets that belong to no element yet, if only one stream can have them.
    func unfinished() -> [UInt8]? {
        let parts = inner.compactMap { $0.unfinished() }
        return parts.count == 1 ? parts[0] : nil
    }

    /// Opens no more: elements that wait for their inner stream are dropped.
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
        isUpstreamOver = true
        upstream.close()
        for cursor in inner + failed { cursor.close() }
        (inner, failed) = ([], [])
    }
}
