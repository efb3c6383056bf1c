import BLEProtocol
import BLERadio
import BLESimulator
import Dispatch
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct VirtualTimeTests {
    @Test func `sleeping for a year takes no real time`() async throws {
        let began = ContinuousClock.now
        let passed = try await VirtualTime.run(limit: .seconds(400 * 86_400)) { time in
            try await time.sleep(for: .seconds(365 * 86_400))
            return time.now
        }
        #expect(passed == .seconds(365 * 86_400))
        #expect(began.duration(to: .now) < .seconds(3600))
    }

    @Test func `the wall time begins at a fixed date and is marked as simulated`() async throws {
        try await VirtualTime.run { time in
            #expect(time.wallTime == VirtualTime.beginning)
            try await time.sleep(for: .seconds(60))
            #expect(time.wallTime.sinceEpoch == .seconds(1_704_067_260))
            #expect(time.wallTime.source == .simulation)
        }
    }

    @Test func `sleepers wake in the order of their deadlines`() async throws {
        let woken = try await VirtualTime.run { time in
            let log = Log<String>()
            try await withThrowingTaskGroup { group in
                for milliseconds in [30, 10, 20, 40, 5] {
                    group.addTask {
                        try await time.clock.sleep(for: .milliseconds(milliseconds))
                        log.append("\(milliseconds) at \(time.now)")
                    }
                }
                try await group.waitForAll()
            }
            return log.values
        }
        #expect(
            woken == [
                "5 at 0.005 seconds", "10 at 0.01 seconds", "20 at 0.02 seconds", "30 at 0.03 seconds",
                "40 at 0.04 seconds",
            ]
        )
    }

    @Test func `the clock does not go on while a job is runnable`() async throws {
        try await VirtualTime.run { time in
            let fired = Log<Duration>()
            let timer = time.schedule(after: .nanoseconds(1)) { fired.append(time.now) }
            for _ in 0..<1000 { await Task.yield() }
            #expect(time.now == .zero)
            #expect(fired.values.isEmpty)
            try await time.sleep(for: .nanoseconds(2))
            #expect(fired.values == [.nanoseconds(1)])
            timer.cancel()
        }
    }

    @Test func `a closure without delay runs soon, never inside the call`() async throws {
        try await VirtualTime.run { time in
            let log = Log<String>()
            let activity = time.schedule(after: .seconds(-1)) { log.append("closure") }
            log.append("scheduled")
            try await time.sleep(for: .nanoseconds(1))
            #expect(log.values == ["scheduled", "closure"])
            activity.cancel()
        }
    }

    @Test func `a cancelled timer never fires, and letting go of it cancels`() async throws {
        try await VirtualTime.run { time in
            let log = Log<String>()
            let kept = time.schedule(after: .seconds(1)) { log.append("kept") }
            let cancelled = time.schedule(after: .seconds(1)) { log.append("cancelled") }
            cancelled.cancel()
            _ = time.schedule(after: .seconds(1)) { log.append("let go") }
            try await time.sleep(for: .seconds(2))
            #expect(log.values == ["kept"])
            kept.cancel()
        }
    }

    @Test func `many cancelled timers leave the others in order`() async throws {
        try await VirtualTime.run { time in
            let log = Log<Int>()
            var kept: [RadioActivity] = []
            for number in 0..<500 {
                let delay = Duration.milliseconds((number * 7919) % 500 + 1)
                let timer = time.schedule(after: delay) { log.append((number * 7919) % 500) }
                if number % 5 == 0 { kept.append(timer) } else { timer.cancel() }
            }
            try await time.sleep(for: .seconds(1))
            #expect(log.values.count == 100)
            #expect(log.values == log.values.sorted())
            #expect(kept.count == 100)
        }
    }

    @Test func `actors, streams and child tasks run in virtual time`() async throws {
        actor Counter {
            var count = 0
            func increment() { count += 1 }
        }
        let count = try await VirtualTime.run { time in
            let counter = Counter()
            let (stream, continuation) = AsyncThrowingStream<Int, any Error>.makeStream()
            async let producer: Void = {
                for number in 0..<100 {
                    try await time.sleep(for: .seconds(1))
                    continuation.yield(number)
                }
                continuation.finish()
            }()
            for try await _ in stream { await counter.increment() }
            try await producer
            #expect(time.now == .seconds(100))
            return await counter.count
        }
        #expect(count == 100)
    }

    @Test func `the body's error is thrown as it is`() async throws {
        struct Mine: Error {}
        await #expect(throws: Mine.self) {
            try await VirtualTime.run { _ in throw Mine() }
        }
    }
}

extension VirtualTimeTests {
    @MainActor @Test func `a body that is started from the main actor runs on virtual time all the same`() async throws
    {
        try await VirtualTime.run { time in
            let log = Log<Duration>()
            let timer = time.schedule(after: .nanoseconds(1)) { log.append(time.now) }
            for _ in 0..<1000 { await Task.yield() }
            #expect(log.values.isEmpty)
            timer.cancel()
        }
    }

    @Test func `the clock stands still while something is held that it can't see`() async throws {
        try await VirtualTime.run { time in
            let order = Mutex<[String]>([])
            let hold = time.hold()
            DispatchQueue.global().async {
                order.withLock { $0.append("file read") }
                hold.cancel()
                hold.cancel()
            }
            try await time.sleep(for: .seconds(1))
            order.withLock { $0.append("slept") }
            #expect(order.withLock { $0 } == ["file read", "slept"])
            #expect(time.now == .seconds(1))
        }
    }
}
