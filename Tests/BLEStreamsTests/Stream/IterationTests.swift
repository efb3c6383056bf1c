import Synchronization
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct IterationTests {
    @Test func `the end is final`() async throws {
        var iterator = BLEStream([1]).makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func `an error is thrown once, then the stream is over`() async throws {
        let stream = BLEStream<Int> { feed in
            feed.send(1)
            feed.finish(throwing: Stage.failure)
            return {}
        }
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        await #expect(throws: BLEError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func `an iterator that is let go of closes what it opened`() async throws {
        let log = Recorder<String>()
        let stream = BLEStream<Int> { feed in
            log.add("open")
            feed.send(contentsOf: 1...3)
            return { log.add("close") }
        }
        do {
            var iterator = stream.makeAsyncIterator()
            #expect(log.all == [])
            _ = try await iterator.next()
            #expect(log.all == ["open"])
            _ = iterator
        }
        #expect(log.all == ["open", "close"])
        #expect(stream.counters.delivered == 1)
        #expect(stream.counters.dropped == 2)
    }

    @Test func `a copy of an iterator is the same iteration`() async throws {
        var one = BLEStream([1, 2, 3]).makeAsyncIterator()
        var other = one
        #expect(try await one.next() == 1)
        #expect(try await other.next() == 2)
        #expect(try await one.next() == 3)
        #expect(try await other.next() == nil)
        #expect(try await one.next() == nil)
    }

    @Test func `a source that never pauses is left at the next element`() async throws {
        let seen = Recorder<Int>()
        let task = Task {
            for try await number in BLEStream(0...) {
                seen.add(number)
                if number == 10 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(seen.all == Array(0...10))
    }

    @Test func `cancellation wakes a consumer that waits, and closes`() async throws {
        let closed = Recorder<Void>()
        let (opened, tell) = AsyncStream<Void>.makeStream()
        let task = Task {
            for try await _ in BLEStream<Int>(start: { _ in
                tell.finish()
                return { closed.add(()) }
            }) {}
        }
        for await _ in opened {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(closed.all.count == 1)
    }

    @Test func `the counters sum up all iterations, open ones included`() async throws {
        let stream = BLEStream<Int>(buffer: .unbounded) { feed in
            feed.send(contentsOf: 1...4)
            return {}
        }
        _ = try await stream.first()
        #expect(stream.counters.delivered == 1)
        #expect(stream.counters.dropped == 3)
        var iterator = stream.map { $0 }.makeAsyncIterator()
        _ = try await iterator.next()
        _ = try await iterator.next()
        let counters = stream.counters
        #expect(counters.received == 8)
        #expect(counters.delivered == 3)
        #expect(counters.dropped == 3)
        #expect(counters.waiting == 2)
        #expect(counters.highWaterMark == 4)
        _ = iterator
    }

    @Test func `as a plain AsyncThrowingStream it brings the same and closes at its end`() async throws {
        let closed = Recorder<Void>()
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: 1...3)
            feed.finish(throwing: Stage.failure)
            return { closed.add(()) }
        }
        var seen: [Int] = []
        await #expect(throws: BLEError.self) {
            for try await number in stream.asyncThrowingStream() { seen.append(number) }
        }
        #expect(seen == [1, 2, 3])
        #expect(closed.all.count == 1)
    }

    @Test func `a plain AsyncThrowingStream in a task cancelled between elements ends without an error, and closes`()
        async throws
    {
        let closed = Recorder<Void>()
        let plain = BLEStream<Int> { feed in
            feed.send(contentsOf: 1...3)
            return { closed.add(()) }
        }.asyncThrowingStream()
        let seen = try await withThrowingTaskGroup(of: [Int].self) { group in
            group.addTask {
                var seen: [Int] = []
                for try await number in plain {
                    seen.append(number)
                    withUnsafeCurrentTask { $0?.cancel() }
                }
                return seen
            }
            return try await group.next()
        }
        #expect(seen == [1])
        #expect(closed.all.count == 1)
    }

    @Test func `a plain AsyncThrowingStream that is left closes the source`() async throws {
        let closed = Recorder<Void>()
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: 1...3)
            return { closed.add(()) }
        }
        for try await number in stream.asyncThrowingStream() where number == 2 { break }
        #expect(closed.all.count == 1)
    }
}
