import BLERadio
import Synchronization

/// One iteration of many streams at once. Each wakes the consumer by its number, so only those with news are polled.
final class MergeCursor<Value: Sendable, Element: Sendable> {
    private var upstreams: [Cursor<Value>?]
    /// The streams that have failed, or have ended because they were stopped, closed with the others; and the error of
    /// the first one, thrown behind what waits.
    private var left: [Cursor<Value>] = []
    private var failure = FirstFailure()
    private let element: (Int, Value) -> Element
    private var openCount: Int
    private var isStopped = false
    private let news: MergeNews
    /// The streams that may have something, in the order of polling; each at most once.
    private var ready = Ring<Int>()
    private var isReady: [Bool]

    /// - Parameter element: makes an element from a value and the number of its stream.
    static func stream(
        of streams: [BLEStream<Value>],
        _ element: @escaping @Sendable (Int, Value) -> Element
    ) -> BLEStream<Element> {
        let only = streams.count == 1 ? streams[0].subject : nil
        return BLEStream(
            only ?? StreamSubject(operation: "merge", object: "of \(streams.count) streams"),
            timeline: streams.first?.timeline ?? RealTimeline(),
            counting: StreamCounting(of: streams.map(\.counting))
        ) { waker in
            let cursor = MergeCursor(streams, waker, element)
            return Cursor(poll: cursor.poll, unfinished: cursor.unfinished, stop: cursor.stop, close: cursor.close)
        }
    }

    private init(_ streams: [BLEStream<Value>], _ waker: Waker, _ element: @escaping (Int, Value) -> Element) {
        self.element = element
        let news = MergeNews(count: streams.count, waker)
        self.news = news
        openCount = streams.count
        isReady = streams.map { _ in false }
        upstreams = streams.enumerated().map { number, stream in
            stream.open(Waker(for: waker) { news.add(number) })
        }
        askAll()
    }

    private func poll() throws -> Polled<Element> {
        while true {
            for number in news.take() { ask(number) }
            guard let number = ready.popFirst() else {
                // Streams that were stopped end, too: one that shares its source may yet be given what has come.
                guard openCount == 0 else { return .pending }
                if let failure = failure.thrown { throw failure }
                return .end
            }
            isReady[number] = false
            guard let upstream = upstreams[number] else { continue }
            do {
                switch try upstream.poll() {
                case .element(let value):
                    // After the others: a stream that always has something must leave turns to them.
                    ask(number)
                    return .element(element(number, value))
                case .gap(let gap):
                    ask(number)
                    return .gap(gap)
                // It may have given up because of that, and have more for another consumer of a shared stream.
                case .pending where Task.isCancelled:
                    ask(number)
                    return .pending
                case .pending: break
                case .end:
                    upstreams[number] = nil
                    openCount -= 1
                    end(upstream)
                }
            } catch {
                upstreams[number] = nil
                openCount -= 1
                fail(upstream, with: error)
            }
        }
    }

    private func end(_ upstream: Cursor<Value>) {
        // One that was stopped may end in the middle of a message. What another one has left at its end, such as a
        // prefix, belongs to no error. Who closes all knows whether anybody gets the error.
        guard isStopped else { return upstream.close() }
        failure.add(upstream.unfinished(.lost))
        left.append(upstream)
    }

    /// The others receive no more, and what they have comes before the error.
    private func fail(_ upstream: Cursor<Value>, with error: any Error) {
        // Closed when all is: who closes all knows whether anybody gets the error.
        left.append(upstream)
        upstream.stop()
        let isFirst = failure.error == nil
        failure.add(error)
        if isFirst { stop() }
    }

    private func ask(_ number: Int) {
        if !isReady[number] { ready.append(number) }
        isReady[number] = true
    }

    private func askAll() {
        for number in upstreams.indices { ask(number) }
    }

    /// Octets that belong to no element yet, of all streams.
    private func unfinished(_ scope: UnfinishedScope) -> UnfinishedParts {
        var parts = failure.parts
        for upstream in upstreams { if let upstream { parts.add(upstream.unfinished(scope)) } }
        return parts
    }

    private func stop() {
        isStopped = true
        for upstream in upstreams { upstream?.stop() }
        askAll()
    }

    private func close() {
        for upstream in upstreams { upstream?.close() }
        for upstream in left { upstream.close() }
        (upstreams, left) = ([], [])
        ready = Ring()
    }
}

/// The numbers of the streams that have woken the consumer.
private final class MergeNews: Sendable {
    private struct State {
        var numbers: [Int] = []
        var isIn: [Bool]
    }

    private let state: Mutex<State>
    private let waker: Waker

    init(count: Int, _ waker: Waker) {
        state = Mutex(State(isIn: Array(repeating: false, count: count)))
        self.waker = waker
    }

    func add(_ number: Int) {
        let isNew = state.withLock { state in
            guard !state.isIn[number] else { return false }
            state.isIn[number] = true
            state.numbers.append(number)
            return true
        }
        if isNew { waker.wake() }
    }

    func take() -> [Int] {
        state.withLock { state in
            guard !state.numbers.isEmpty else { return [] }
            for number in state.numbers { state.isIn[number] = false }
            defer { state.numbers = [] }
            return state.numbers
        }
    }
}
