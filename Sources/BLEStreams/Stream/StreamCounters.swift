import Synchronization

/// The counts of one stream's values, over all its iterations; see ``BLEStream/counters``.
///
/// Every value that arrived was delivered, was dropped or is waiting.
public struct StreamCounters: Hashable, Sendable {
    /// Values that arrived, including those that the kernel reports as dropped.
    public var received = 0
    /// Values that a consumer took.
    public var delivered = 0
    /// Values that were dropped: the buffer was full, the stream was over, the consumer had left, or the kernel's
    /// own buffer was full.
    public var dropped = 0
    /// The largest number of values that waited at once.
    public var highWaterMark = 0

    /// Values that are waiting for a consumer now.
    public var waiting: Int { received - delivered - dropped }

    /// All zero.
    @usableFromInline package init() {}

    /// Adds other counts, as if they were of the same stream.
    mutating func add(_ other: StreamCounters) {
        received += other.received
        delivered += other.delivered
        dropped += other.dropped
        highWaterMark = max(highWaterMark, other.highWaterMark)
    }
}

/// Where the values of a stream are counted: by its source, or by several.
@usableFromInline
struct StreamCounting: Sendable {
    private struct Source {
        /// The object that counts, which `counters` holds.
        let id: ObjectIdentifier
        let counters: @Sendable () -> StreamCounters
    }

    // Most streams have one, which is in no array: that would be a block of memory for each stream.
    private let first: Source?
    private let others: [Source]

    /// Nowhere: the source has no buffer.
    @usableFromInline
    init() { (first, others) = (nil, []) }

    init(_ tally: Tally) { self.init(by: tally) { tally.counters } }

    /// - Parameter counter: what counts; `counters` must hold it.
    init(by counter: AnyObject, _ counters: @escaping @Sendable () -> StreamCounters) {
        (first, others) = (Source(id: ObjectIdentifier(counter), counters: counters), [])
    }

    /// Those of several streams. What two of them have in common counts all their iterations, and is read once.
    init(of streams: [StreamCounting]) {
        var seen: Set<ObjectIdentifier> = []
        let sources = streams.flatMap(\.sources).filter { seen.insert($0.id).inserted }
        (first, others) = (sources.first, Array(sources.dropFirst()))
    }

    private var sources: [Source] { (first.map { [$0] } ?? []) + others }

    /// A correction is behind what it corrects, and read before that: values may come meanwhile.
    var counters: StreamCounters { sources.reversed().reduce(into: StreamCounters()) { $0.add($1.counters()) } }
}

/// The counters of one stream: those of its open iterations, and the sum of the finished ones.
@usableFromInline
final class Tally: Sendable {
    private struct State {
        var past = StreamCounters()
        /// There is usually only one: no need for a table.
        var open: [(key: ObjectIdentifier, counters: @Sendable () -> StreamCounters)] = []
    }

    private let state = Mutex(State())

    @usableFromInline
    init() {}

    @usableFromInline
    var counters: StreamCounters {
        state.withLock { state in
            var sum = state.past
            for iteration in state.open { sum.add(iteration.counters()) }
            return sum
        }
    }

    /// An iteration has begun; `key` lives as long as the iteration.
    func began(_ key: AnyObject, _ counters: @escaping @Sendable () -> StreamCounters) {
        state.withLock { $0.open.append((ObjectIdentifier(key), counters)) }
    }

    /// An iteration is over, and its counters no longer change.
    func ended(_ key: AnyObject) {
        state.withLock { state in
            guard let index = state.open.firstIndex(where: { $0.key == ObjectIdentifier(key) }) else { return }
            state.past.add(state.open.remove(at: index).counters())
        }
    }
}
