import BLEStreams

// Each operator by what its documentation says.
extension ReferenceStream.Stage {
    /// What opens an iteration of a composition.
    func build(_ stream: ComposedStream) -> () -> ReferenceStream {
        switch stream {
        case .source(let number):
            let counted = newCounts()
            return { ReferenceSource(self, number, counted) }
        case .filter(let divisor, let upstream):
            return over(upstream) { ReferenceFilter($0, divisor) }
        case .prefix(let count, let upstream):
            let open = build(upstream)
            return { count == 0 ? ReferenceStream() : ReferencePrefix(open(), count) }
        case .prefixFor(let duration, let upstream):
            return over(upstream) { ReferenceTakeUntil($0, ReferenceTimer(self, duration)) }
        case .batched(let limit, let upstream): return over(upstream) { ReferenceBatched($0, limit) }
        case .throttle(let interval, let upstream):
            return over(upstream) { ReferenceHolding(self, $0, interval, isThrottling: true) }
        case .debounce(let quiet, let upstream):
            return over(upstream) { ReferenceHolding(self, $0, quiet, isThrottling: false) }
        case .timeout(let limit, let upstream): return over(upstream) { ReferenceTimeout(self, $0, limit) }
        case .buffered(let policy, let upstream):
            let open = build(upstream)
            let counted = newCounts()
            return { ReferenceBuffered(open(), policy, counted) }
        case .retry(let pause, let attempts, let upstream):
            let open = build(upstream)
            return { ReferenceRetry(self, pause, attempts, open) }
        case .share(let replay, let upstream):
            let open = build(upstream)
            let shared = ReferenceShared(replay, open, newCounts())
            return { ReferenceMember(shared) }
        case .zip(let one, let other): return both(one, other, counting: true) { ReferenceZip($0, $1) }
        case .combineLatest(let one, let other): return both(one, other, counting: true) { ReferenceCombined($0, $1) }
        case .takeUntil(let one, let other): return both(one, other, counting: false) { ReferenceTakeUntil($0, $1) }
        case .flatMap(let upstream, let inner):
            let open = build(upstream)
            let counted = counts
            let openInner = build(inner)
            counts = counted
            return { ReferenceFlat(open(), openInner) }
        }
    }

    private func over(
        _ upstream: ComposedStream,
        _ make: @escaping (ReferenceStream) -> ReferenceStream
    ) -> () -> ReferenceStream {
        let open = build(upstream)
        return { make(open()) }
    }

    private func both(
        _ one: ComposedStream,
        _ other: ComposedStream,
        counting: Bool,
        _ make: @escaping (ReferenceStream, ReferenceStream) -> ReferenceStream
    ) -> () -> ReferenceStream {
        let open = build(one)
        let counted = counts
        let openOther = build(other)
        counts = counting ? counted + counts : counted
        return { make(open(), openOther()) }
    }

    private func newCounts() -> ReferenceStream.Buffer.Counts {
        let new = ReferenceStream.Buffer.Counts()
        counts = [new]
        return new
    }
}

/// A shared stream: one iteration for all consumers, and another one for who comes after its end.
final class ReferenceShared {
    typealias Buffer = ReferenceStream.Buffer

    private let replay: Int
    private let open: () -> ReferenceStream
    let counts: Buffer.Counts
    private var upstream: ReferenceStream?
    private(set) var isOver = false
    private var buffers: [Buffer] = []
    private var last: [(gap: StreamGap?, element: Int)] = []
    private var gap: StreamGap?

    init(_ replay: Int, _ open: @escaping () -> ReferenceStream, _ counts: Buffer.Counts) {
        (self.replay, self.open, self.counts) = (replay, open, counts)
    }

    func add(_ buffer: Buffer) {
        if isOver { (upstream, isOver) = (nil, false) }
        for (number, (gap, element)) in last.enumerated() {
            if let gap, number > 0 { buffer.add(gap) }
            buffer.add(element)
        }
        if let gap { buffer.add(gap) }
        buffers.append(buffer)
    }

    func draw() {
        let upstream = self.upstream ?? open()
        self.upstream = upstream
        let answer = upstream.next()
        switch answer {
        case .item(.element(let element)):
            if replay > 0 { last.append((gap.take(), element)) }
            if last.count > replay { last.removeFirst() }
            for buffer in buffers { buffer.add(element) }
        case .item(.gap(let next)):
            if !last.isEmpty { gap = ReferenceStream.sum(gap, next) }
            for buffer in buffers { buffer.add(next) }
        case .nothing: break
        case .end, .failure:
            for buffer in buffers { buffer.finish(answer) }

            end()
        }
    }

    func remove(_ buffer: Buffer) {
        buffers.removeAll { $0 === buffer }
        if buffers.isEmpty, !isOver { end() }
    }

    private func end() {
        upstream?.close()
        isOver = true
        (last, gap, buffers) = ([], nil, [])
    }
}

/// A consumer of a shared stream.
final class ReferenceMember: ReferenceStream {
    private let shared: ReferenceShared
    private let buffer: Buffer

    init(_ shared: ReferenceShared) {
        self.shared = shared
        buffer = Buffer(.unbounded, shared.counts)
        shared.add(buffer)
    }

    override func next() -> Answer {
        let answer = buffer.next()
        guard case .nothing = answer else { return answer }
        shared.draw()
        return buffer.next()
    }

    override func close() {
        shared.remove(buffer)
        buffer.close()
    }
}
