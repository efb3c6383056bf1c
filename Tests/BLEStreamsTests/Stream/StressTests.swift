import Dispatch
import Foundation
import Testing

@testable import BLEStreams

/// Real threads, random sizes and pauses, ends at any moment. A lost wake-up would be a consumer that waits for ever.
@Suite(.timeLimit(.minutes(10))) struct StressTests {
    static let seeds = Stress.seeds(40)

    private struct Value: Sendable {
        var producer: Int
        var number: Int
    }

    /// Sends numbers in batches of random sizes from a thread of its own, and then tells that it is done.
    private func produce(
        _ count: Int,
        as producer: Int,
        seed: UInt64,
        to feed: BLEStream<Value>.Feed,
        done: @escaping @Sendable () -> Void
    ) {
        DispatchQueue(label: "producer \(producer)").async {
            var chance = Chance(seed: seed &+ UInt64(producer))
            var next = 0
            while next < count {
                let end = min(count, next + 1 + chance.below(chance.below(2) == 0 ? 3 : 200))
                feed.send(contentsOf: (next..<end).map { Value(producer: producer, number: $0) })
                next = end
                for _ in 0..<chance.below(3) { sched_yield() }
            }
            done()
        }
    }

    /// A stream that two threads feed, and that ends when both are done.
    private func stream(_ count: Int, seed: UInt64, buffer: BufferPolicy) -> BLEStream<Value> {
        BLEStream(buffer: buffer) { feed in
            let left = DispatchGroup()
            for producer in 0..<2 {
                left.enter()
                produce(count, as: producer, seed: seed, to: feed) { left.leave() }
            }
            left.notify(queue: .global()) { feed.finish() }
            return {}
        }
    }

    /// Whether the numbers of each producer rise, by one if nothing may be missing.
    private func isInOrder(_ values: [Value], isComplete: Bool) -> Bool {
        var last = [-1, -1]
        for value in values {
            let expected = last[value.producer] + 1
            guard isComplete ? value.number == expected : value.number >= expected else { return false }
            last[value.producer] = value.number
        }
        return true
    }

    @Test(arguments: seeds) func `nothing is lost, and order is each producer's`(seed: UInt64) async throws {
        let stream = stream(2000, seed: seed, buffer: .unbounded)
        let values = try await stream.map { $0 }.timeout(.seconds(600)).collect()
        #expect(values.count == 4000)
        #expect(isInOrder(values, isComplete: true))
        #expect(stream.counters.delivered == 4000)
        #expect(stream.counters.dropped == 0)
    }

    @Test(arguments: seeds, [BufferPolicy.newest(7), .oldest(7), .fail(7), .unbounded])
    func `a consumer that leaves at any moment leaves exact counters`(seed: UInt64, policy: BufferPolicy) async {
        var chance = Chance(seed: seed)
        let leavesAfter = chance.below(3000)
        let isCancelled = chance.below(2) == 0
        let stream = stream(1000, seed: seed, buffer: policy)
        let task = Task {
            var values: [Value] = []
            do {
                for try await value in stream {
                    values.append(value)
                    guard values.count > leavesAfter else { continue }
                    if isCancelled { withUnsafeCurrentTask { $0?.cancel() } } else { break }
                }
            } catch {
                #expect(error is CancellationError || (error as? BLEError)?.code == .overflow)
            }
            return values
        }
        let values = await task.value
        let counters = stream.counters
        #expect(isInOrder(values, isComplete: policy == .unbounded))
        #expect(counters.delivered == values.count)
        #expect(counters.waiting == 0)
        if policy != .unbounded { #expect(counters.highWaterMark <= 7) }
    }

    @Test(arguments: seeds) func `counters add up whenever they are read`(seed: UInt64) async throws {
        let stream = stream(2000, seed: seed, buffer: .newest(100))
        let reader = Task.detached {
            var last = StreamCounters()
            while !Task.isCancelled {
                let now = stream.counters
                #expect(now.waiting >= 0 && now.waiting <= 100)
                #expect(now.received >= last.received && now.delivered >= last.delivered)
                #expect(now.dropped >= last.dropped)
                last = now
                await Task.yield()
            }
        }
        var count = 0
        for try await _ in stream { count += 1 }
        reader.cancel()
        await reader.value
        let counters = stream.counters
        #expect(counters.received == 4000)
        #expect(counters.delivered == count)
        #expect(counters.delivered + counters.dropped == 4000)
    }

    @Test(arguments: seeds, [BufferPolicy.newest(7), .oldest(7), .unbounded])
    func `values and what gaps say was dropped are all that came`(seed: UInt64, policy: BufferPolicy) async throws {
        let stream = BLEStream<Int>(buffer: policy) { feed in
            let left = DispatchGroup()
            for producer in 0..<3 {
                DispatchQueue(label: "producer \(producer)").async(group: left) {
                    var chance = Chance(seed: seed &* 10 &+ UInt64(producer))
                    for number in 0..<300 {
                        if chance.below(5) == 0 { feed.lost(1) } else { feed.send(number) }
                        if chance.below(5) == 0 { feed.interrupted(by: CancellationError(), for: .seconds(1)) }
                        Stress.dawdle(&chance)
                    }
                }
            }
            left.notify(queue: .global()) { feed.finish() }
            return {}
        }
        var (values, dropped) = (0, 0)
        for try await item in stream.withGaps() {
            switch item {
            case .value: values += 1
            case .gap(let gap): dropped += gap.dropped
            }
        }
        #expect(values + dropped == 900)
        #expect(stream.counters.delivered == values && stream.counters.dropped == dropped)
    }

    @Test(arguments: seeds) func `consumers of a shared stream that come and go see every value while they are there`(
        seed: UInt64
    ) async throws {
        let upstream = stream(1000, seed: seed, buffer: .unbounded)
        let shared = upstream.share(buffer: .unbounded)
        await withTaskGroup(of: Void.self) { group in
            for consumer in 0..<4 {
                group.addTask { @concurrent in
                    var chance = Chance(seed: seed &* 31 &+ UInt64(consumer))
                    for _ in 0..<3 {
                        let count = 1 + chance.below(800)
                        guard let values = try? await shared.collect(count) else {
                            Issue.record("a shared stream failed")
                            return
                        }
                        // From wherever it came in, each producer's numbers rise by one.
                        for producer in 0..<2 {
                            let numbers = values.filter { $0.producer == producer }.map(\.number)
                            let first = numbers.first ?? 0
                            #expect(numbers == Array(first..<first + numbers.count))
                        }
                    }
                }
            }
        }
        #expect(shared.counters.waiting == 0)
        #expect(upstream.counters.waiting == 0)
    }

    @Test(arguments: seeds) func `merged streams lose nothing`(seed: UInt64) async throws {
        let merged = (0..<8).map { stream(200, seed: seed &+ $0, buffer: .unbounded) }.merged()
        #expect(try await merged.collect().count == 8 * 400)
        #expect(merged.counters.delivered == 8 * 400)
    }

    @Test(arguments: seeds) func `timers of the real time and values race without harm`(seed: UInt64) async throws {
        var chance = Chance(seed: seed)
        let limit = Duration.microseconds(chance.below(300))
        let stream = stream(50, seed: seed, buffer: .unbounded)
        // Each failure starts the stream afresh; some iteration is quick enough, or the whole takes too long.
        let retried = stream.timeout(limit).retry(.constant(.microseconds(chance.below(100))))
            .timeout(.milliseconds(200), for: .wholeStream)
        do {
            for try await _ in retried.debounce(for: .microseconds(50)) {}
        } catch {
            #expect((error as? BLEError)?.code == .timedOut)
        }
        #expect(stream.counters.waiting == 0)
    }
}
