/// One iteration of a stream of streams: the upstream, and the open inner streams, which take turns.
final class InnerStreams<Element: Sendable, Output: Sendable> {
    private let upstream: Cursor<Element>
    private let width: Int
    private let open: (Element) throws -> Cursor<Output>
    /// The first one is polled next.
    private var inner: [Cursor<Output>] = []
    private var isUpstreamOver = false
    /// Whether the inner streams were stopped.
    private var isStopped = false
    /// The inner streams that have failed, or have ended because they were stopped, closed with the others; and the
    /// first error, thrown behind what waits.
    private var left: [Cursor<Output>] = []
    private var failure = FirstFailure()

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
                        hasOpened = begin(element)
                    case .gap(let gap): return .gap(gap)
                    case .pending: break
                    case .end: endUpstream()
                    }
                } catch {
                    // Not closed yet, as other streams that have failed.
                    isUpstreamOver = true
                    upstream.stop()
                    fail(with: error)
                }
            }
            let count = inner.count
            if let polled = pollInTurn() { return polled }
            if inner.isEmpty, isUpstreamOver { return try end() }
            // The upstream may have more, and an ended stream has made room for it. Otherwise all have returned
            // `.pending`, also behind a failure: one that shares its source may yet be given what has come.
            if !hasOpened, inner.count == count { return .pending }
            if Task.isCancelled { return .pending }
        }
    }

    /// Opens the stream of an element, unless that fails.
    private func begin(_ element: Element) -> Bool {
        do {
            inner.insert(try open(element), at: 0)
            return true
        } catch {
            fail(with: error)
            return false
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
                case .end:
                    // One that was stopped may end in the middle of a message. What another one has left at its end,
                    // such as a prefix, belongs to no error, and any number of them may come.
                    // Who closes all knows whether anybody gets the error.
                    if isStopped {
                        failure.add(cursor.unfinished(.lost))
                        left.append(cursor)
                    } else {
                        cursor.close()
                    }
                }
            } catch {
                left.append(cursor)
                fail(with: error)
            }
        }
        return nil
    }

    /// No more are opened, those that are open receive no more, and what they have comes before the error. What has
    /// failed is closed when all is.
    private func fail(with error: any Error) {
        let isFirst = failure.error == nil
        failure.add(error)
        guard isFirst else { return }
        stopUpstream()
        stopInner()
    }

    private func end() throws -> Polled<Output> {
        if let failure = failure.thrown { throw failure }
        return .end
    }

    /// Octets that belong to no element yet, of all streams. What the upstream keeps for its next consumer stays there.
    func unfinished(_ scope: UnfinishedScope) -> UnfinishedParts {
        var parts = failure.parts
        if !isUpstreamOver { parts.add(upstream.unfinished(.lost)) }
        for cursor in inner { parts.add(cursor.unfinished(scope)) }
        return parts
    }

    /// Opens no more: elements that wait for their inner stream are dropped.
    func stop() {
        stopUpstream()
        stopInner()
    }

    /// It isn't polled any more, and is closed when all is: an error that stops this one may yet be dropped.
    private func stopUpstream() {
        guard !isUpstreamOver else { return }
        isUpstreamOver = true
        upstream.stop()
        failure.add(upstream.unfinished(.lost))
    }

    private func stopInner() {
        isStopped = true
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
        for cursor in inner + left { cursor.close() }
        (inner, left) = ([], [])
    }
}
