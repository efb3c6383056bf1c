import BLERadio
import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// A loop with one cancellation handler.
@Suite(.timeLimit(.minutes(10))) struct ReceiveTests {
    private struct Refused: Error {}

    @Test func `each element comes once, in order, and the end is the end`() async throws {
        var elements: [Int] = []
        try await BLEStream([1, 2, 3]).receive { elements.append($0) }
        #expect(elements == [1, 2, 3])
    }

    @Test func `elements that come one at a time are waited for`() async throws {
        try await VirtualTime.run { time in
            var ticks: [Duration] = []
            try await BLEStream<Int>.interval(.seconds(1), timeline: time).prefix(3).receive { _ in
                ticks.append(time.now)
            }
            #expect(ticks == [.seconds(1), .seconds(2), .seconds(3)])
        }
    }

    @Test func `an error of the stream passes, behind what came before it`() async throws {
        let failing = BLEStream<Int> { feed in
            feed.send(1)
            feed.finish(throwing: Stage.failure)
            return {}
        }
        var elements: [Int] = []
        await #expect(throws: BLEError.self) { try await failing.receive { elements.append($0) } }
        #expect(elements == [1])
    }

    @Test func `an error of the closure passes, and closes the stream`() async throws {
        let closed = Recorder<Int>()
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2, 3])
            return { closed.add(feed.counters.received) }
        }
        await #expect(throws: Refused.self) { try await stream.receive { if $0 == 2 { throw Refused() } } }
        #expect(closed.all == [3])
        #expect(stream.counters.delivered == 2)
    }

    @Test func `a cancelled task takes no element, even one that is there`() async throws {
        let opened = Recorder<Int>()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await FirstTests.oneElement(opened).receive { _ in }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(opened.all.isEmpty)
    }

    @Test func `a consumer cancelled while busy gets no further element`() async throws {
        try await VirtualTime.run { time in
            let stream = BLEStream<Int>(timeline: time) { feed in
                let timer = time.schedule(after: .seconds(1)) { feed.send(contentsOf: [1, 2]) }
                return { timer.cancel() }
            }
            let taken = Recorder<Int>()
            // A child, which runs in virtual time: it waits by the time when they come.
            async let receiving: Void = stream.receive { number in
                taken.add(number)
                withUnsafeCurrentTask { $0?.cancel() }
            }
            do {
                try await receiving
                Issue.record("a cancelled consumer ends without an error")
            } catch is CancellationError {}
            #expect(taken.all == [1])
        }
    }

    @Test func `a cancellation ends a wait, and a source that never pauses`() async throws {
        for isBusy in [false, true] {
            let (waiting, tell) = AsyncStream<Void>.makeStream()
            let closed = Recorder<Void>()
            let stream = BLEStream<Int> { feed in
                if !isBusy { feed.send(1) }
                return { closed.add(()) }
            }
            let source = isBusy ? stream.merge(with: BLEStream(1...Int.max)) : stream
            let task = Task { try await source.receive { _ in tell.finish() } }
            for await _ in waiting {}
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(closed.all.count == 1)
        }
    }

    /// Whenever it comes: before the wait, between listening and waiting, during it.
    @Test func `no cancellation is lost between threads`() async throws {
        for _ in 0..<200 {
            let feeds = Mutex<BLEStream<Int>.Feed?>(nil)
            let stream = BLEStream<Int> { feed in
                feeds.withLock { $0 = feed }
                return {}
            }
            let task = Task { try await stream.receive { _ in } }
            async let sending: Void = { for number in 0..<20 { feeds.withLock { $0 }?.send(number) } }()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await sending
        }
    }
}
