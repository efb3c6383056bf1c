import BLERadio
import BLESimulator
import BLEStreams
import Synchronization

/// A composition of operators over scripted sources, which the library plays and ``ReferenceStream`` does.
///
/// All times are microseconds: those that chance chooses hardly ever coincide.
indirect enum ComposedStream: Sendable {
    case source(Int)
    case filter(Int, ComposedStream)
    case prefix(Int, ComposedStream)
    case prefixFor(Int, ComposedStream)
    case batched(Int, ComposedStream)
    case throttle(Int, ComposedStream)
    case debounce(Int, ComposedStream)
    case timeout(Int, ComposedStream)
    case buffered(BufferPolicy, ComposedStream)
    case retry(pause: Int, attempts: Int, ComposedStream)
    case share(replay: Int, ComposedStream)
    case zip(ComposedStream, ComposedStream)
    case combineLatest(ComposedStream, ComposedStream)
    case takeUntil(ComposedStream, ComposedStream)
    case flatMap(ComposedStream, ComposedStream)

    static func time(_ microseconds: Int) -> Duration { .microseconds(microseconds) }

    static func pair(_ first: Int, _ second: Int) -> Int { (first * 31 + second) % 999_983 }

    static func sum(_ batch: [Int]) -> Int { batch.reduce(batch.count) { pair($0, $1) } }
}

/// What the sources of a composition do, and how it is consumed.
struct ComposedPlay: Sendable {
    enum Event: Sendable {
        case elements([Int])
        case lost(Int)
        case interrupted(Int)
        case end
        case failure
    }

    /// One iteration of a source: what happens how long after its beginning.
    typealias Script = [(after: Int, events: [Event])]

    struct Source: Sendable {
        /// One for each iteration; the last one again and again.
        var scripts: [Script]
        var buffer: BufferPolicy
    }

    struct Consumer: Sendable {
        var begins: Int
        /// How long it is busy with each element.
        var busy: Int
        var leavesAfter: Int
        var isCancelled: Int
    }

    /// What is compared: each consumer's elements and gaps with their times, and when the sources were open.
    struct Outcome: Equatable, Sendable {
        var seen: [[String]]
        var openings: [String]
        var counters: StreamCounters
    }

    /// The counters that are compared: how many wait at once depends on which one of several consumers polls for all.
    func compared(_ counters: StreamCounters) -> StreamCounters {
        var compared = counters
        if consumers.count > 1 { compared.highWaterMark = 0 }
        return compared
    }

    var sources: [Source]
    var stream: ComposedStream
    var consumers: [Consumer]
}

/// What a consumer sees.
struct ComposedSight {
    /// Any one of several consumers polls for all: it sees two gaps where the others see their sum.
    let isSummingGaps: Bool
    private(set) var lines: [String] = []
    private(set) var count = 0
    private var gap: StreamGap?

    init(in play: ComposedPlay) { isSummingGaps = play.consumers.count > 1 }

    /// - Returns: whether the consumer is busy with it.
    mutating func add(_ item: Gapped<Int>, at moment: Int) -> Bool {
        if isSummingGaps, case .gap(let next) = item {
            gap = ReferenceStream.sum(gap, next)
            return false
        }
        add(ReferenceStream.text(of: item), at: moment)
        count += 1
        return true
    }

    mutating func add(_ text: String, at moment: Int) {
        if let gap { lines.append("\(moment) \(ReferenceStream.text(of: Gapped<Int>.gap(gap)))") }
        gap = nil
        lines.append("\(moment) \(text)")
    }
}

/// A composition played by the library.
final class ComposedStage: Sendable {
    static let failure = Stage.failure

    let time: VirtualTime
    let play: ComposedPlay
    private let timers = Mutex<[RadioActivity]>([])
    private let log = Mutex<[(source: Int, opened: Int, closed: [Int])]>([])

    init(_ play: ComposedPlay, _ time: VirtualTime) { (self.play, self.time) = (play, time) }

    var now: Int { Int(time.now / .microseconds(1)) }

    /// Lets time pass, cancelled or not.
    func work(for microseconds: Int) async {
        await withCheckedContinuation { continuation in
            let timer = time.schedule(after: .microseconds(microseconds)) { continuation.resume() }
            timers.withLock { $0.append(timer) }
        }
    }

    var openings: [String] { log.withLock { $0.map { "\($0.source): \($0.opened)..<\($0.closed)" } }.sorted() }

    func build(_ stream: ComposedStream) -> BLEStream<Int> {
        typealias Composed = ComposedStream
        switch stream {
        case .source(let number): return source(number)
        case .filter(let divisor, let upstream): return build(upstream).filter { !$0.isMultiple(of: divisor) }
        case .prefix(let count, let upstream): return build(upstream).prefix(count)
        case .prefixFor(let duration, let upstream): return build(upstream).prefix(for: Composed.time(duration))
        case .batched(let limit, let upstream): return build(upstream).batched(atMost: limit).map { Composed.sum($0) }
        case .throttle(let interval, let upstream): return build(upstream).throttle(for: Composed.time(interval))
        case .debounce(let quiet, let upstream): return build(upstream).debounce(for: Composed.time(quiet))
        case .timeout(let limit, let upstream): return build(upstream).timeout(Composed.time(limit))
        case .buffered(let policy, let upstream): return build(upstream).buffered(policy)
        case .retry(let pause, let attempts, let upstream):
            return build(upstream).retry(.constant(Composed.time(pause), attempts: attempts))
        case .share(let replay, let upstream): return build(upstream).share(replay: replay, buffer: .unbounded)
        case .zip(let one, let other): return build(one).zip(with: build(other)).map { Composed.pair($0, $1) }
        case .combineLatest(let one, let other):
            return build(one).combineLatest(with: build(other)).map { Composed.pair($0, $1) }
        case .takeUntil(let upstream, let signal): return build(upstream).take(until: build(signal))
        case .flatMap(let upstream, let inner):
            let inner = build(inner)
            return build(upstream).flatMap { element in inner.map { Composed.pair(element, $0) } }
        }
    }

    private func source(_ source: Int) -> BLEStream<Int> {
        let scripts = play.sources[source].scripts
        return BLEStream(buffer: play.sources[source].buffer, timeline: time) { [self] feed in
            let (iteration, number) = log.withLock { log in
                log.append((source, now, []))
                return (log.count { $0.source == source } - 1, log.count - 1)
            }
            let timers = scripts[min(iteration, scripts.count - 1)].map { step in
                time.schedule(after: .microseconds(step.after)) { Self.send(step.events, to: feed) }
            }
            return { [self] in
                for timer in timers { timer.cancel() }
                log.withLock { $0[number].closed.append(now) }
            }
        }
    }

    private static func send(_ events: [ComposedPlay.Event], to feed: BLEStream<Int>.Feed) {
        for event in events {
            switch event {
            case .elements(let elements): feed.send(contentsOf: elements)
            case .lost(let count): feed.lost(count)
            case .interrupted(let duration): feed.interrupted(by: failure, for: .microseconds(duration))
            case .end: feed.finish()
            case .failure: feed.finish(throwing: failure)
            }
        }
    }
}
