import Dispatch
import Synchronization
import Testing

@testable import BLEStreams

/// Elements are handed out where the consumer is: no hop for an element that is there, one wake-up for all that come.
@Suite(.timeLimit(.minutes(10))) struct IsolationTests {
    /// Runs jobs on a queue of its own, and counts them.
    final class CountingExecutor: SerialExecutor {
        let jobs = Atomic(0)
        private let queue = DispatchQueue(label: "counting")

        func enqueue(_ job: consuming ExecutorJob) {
            jobs.add(1, ordering: .relaxed)
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    actor Consumer {
        private let executor = CountingExecutor()
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        /// The sum of the elements, and how many jobs it took to get it.
        func consume(_ stream: BLEStream<Int>) async throws -> (sum: Int, jobs: Int) {
            let before = executor.jobs.load(ordering: .relaxed)
            var sum = 0
            for try await number in stream {
                preconditionIsolated()
                sum += number
            }
            return (sum, executor.jobs.load(ordering: .relaxed) - before)
        }
    }

    @Test func `elements that are there cost no job of the consumer's executor`() async throws {
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: 1...10_000)
            feed.finish()
            return {}
        }
        let chained = stream.map { $0 }.filter { _ in true }.timeout(.seconds(600)).retry().onEach { _ in }
        let (sum, jobs) = try await Consumer().consume(chained)
        #expect(sum == 50_005_000)
        #expect(jobs == 0)
    }

    @Test func `a batch that comes while the consumer waits costs one`() async throws {
        let feeds = Recorder<BLEStream<Int>.Feed>()
        let (opened, tell) = AsyncStream<Void>.makeStream()
        let stream = BLEStream<Int> { feed in
            feeds.add(feed)
            tell.finish()
            return {}
        }
        async let result = Consumer().consume(stream)
        for await _ in opened {}
        let feed = try #require(feeds.all.first)
        feed.send(contentsOf: 1...10_000)
        feed.finish()
        let (sum, jobs) = try await result
        #expect(sum == 50_005_000)
        // None, if it hadn't come to wait yet.
        #expect(jobs <= 1)
    }

    @MainActor
    @Test func `a consumer on the main actor stays there`() async throws {
        var seen: [Int] = []
        for try await number in BLEStream([1, 2, 3]).map({ $0 * 2 }) {
            MainActor.preconditionIsolated()
            seen.append(number)
        }
        #expect(seen == [2, 4, 6])
    }

    @MainActor
    @Test func `a consumer on the main actor is woken there`() async throws {
        let stream = BLEStream<Int> { feed in
            DispatchQueue.global().async {
                feed.send(contentsOf: 1...3)
                feed.finish()
            }
            return {}
        }
        var sum = 0
        for try await number in stream {
            MainActor.preconditionIsolated()
            sum += number
        }
        #expect(sum == 6)
    }
}
