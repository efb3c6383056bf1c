import BLESimulator
import BLEStreams
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct RetryTests {
    @Test func `after a failure and a pause the stream starts afresh`() async throws {
        let played = try await play { $0.source("a-#", "b|").retry(.constant(.seconds(2))) }
        #expect(played.output == "a---b|")
        #expect(played.openings == ["0..<2", "4..<5"])
        #expect(played.closings == [1, 1])
    }

    @Test func `attempts are counted and the last error is thrown`() async throws {
        let played = try await play { $0.source("#").retry(.constant(.seconds(1), attempts: 2)) }
        #expect(played.output == "--#")
        #expect(played.openings == ["0..<0", "1..<1", "2..<2"])
        #expect((played.error as? BLEError)?.code == .disconnected)
    }

    @Test func `an element starts the count of failures afresh where no stability is asked for`() async throws {
        @Sendable func policy(_ attempts: Int) -> RetryPolicy {
            .constant(.seconds(1), attempts: attempts, stableAfter: .zero)
        }
        let enough = try await play { $0.source("#", "a#", "#", "b|").retry(policy(2)) }
        #expect(enough.output == "-a--b|")
        let tooFew = try await play { $0.source("#", "a#", "#", "b|").retry(policy(1)) }
        #expect(tooFew.output == "-a-#")
    }

    @Test func `failures are counted on until the stream was well for long enough, from its first element on`()
        async throws
    {
        @Sendable func policy(_ stability: Int) -> RetryPolicy {
            .constant(.seconds(1), attempts: 2, stableAfter: .seconds(stability))
        }
        // Well for four seconds, after a silence that doesn't count.
        let stable = try await play { $0.source("#", "----a---#", "#", "b|").retry(policy(4)) }
        #expect(stable.output == "-----a-----b|")
        let flapping = try await play { $0.source("#", "----a---#", "#", "b|").retry(policy(5)) }
        #expect(flapping.output == "-----a----#")
    }

    @Test func `a stream that fails soon after each first element is opened ever less often`() async throws {
        let policy = RetryPolicy.exponential(from: .seconds(1), to: .seconds(8), jitter: 0)
        let played = try await play { stage in
            stage.source("a-#", "a-#", "a-#", "a-#", "a-#", "a----------#", "a-#", "|").retry(policy)
        }
        // Pauses of 1, 2, 4, 8, 8, and 1 after eleven good seconds.
        #expect(played.openings.map { $0.prefix { $0 != "." } } == ["0", "3", "7", "13", "23", "33", "45", "49"])
    }

    @Test func `pauses grow as the policy says, and start afresh after an element`() async throws {
        let policy = RetryPolicy.exponential(
            from: .seconds(1),
            to: .seconds(8),
            jitter: 0,
            attempts: 20,
            stableAfter: .zero
        )
        let played = try await play { stage in
            stage.source("#", "#", "#", "#", "#", "#", "a#", "#", "|").retry(policy)
        }
        // 1, 2, 4, 8, 8, 8, and after the element 1, 2.
        #expect(played.openings.map { $0.prefix { $0 != "." } } == ["0", "1", "3", "7", "15", "23", "31", "33", "35"])
    }

    @Test func `jitter comes from the seed and stays within its bounds`() async throws {
        func pauses(_ seed: UInt64) async throws -> [Duration] {
            try await VirtualTime.run(seed: seed) { time in
                let openings = Recorder<Duration>()
                let failing = BLEStream<Int>(timeline: time) { feed in
                    openings.add(time.now)
                    feed.finish(throwing: Stage.failure)
                    return {}
                }
                let policy = RetryPolicy.exponential(from: .seconds(10), to: .seconds(10), jitter: 0.2, attempts: 5)
                _ = try? await failing.retry(policy).first()
                return zip(openings.all.dropFirst(), openings.all).map { $0 - $1 }
            }
        }
        let (one, again, other) = (try await pauses(7), try await pauses(7), try await pauses(8))
        #expect(one.count == 5)
        #expect(one == again)
        #expect(one != other)
        #expect((one + other).allSatisfy { (.seconds(8))...(.seconds(12)) ~= $0 })
        #expect(Set(one).count == 5)
    }

    @Test func `a final error is not retried, unless asked for`() async throws {
        var final = Stage.failure
        final.isFinal = true
        let opened = Recorder<Int>()
        let failing = BLEStream<Int> { [final] feed in
            opened.add(1)
            feed.finish(throwing: final)
            return {}
        }
        await #expect(throws: BLEError.self) { try await failing.retry(.immediate(attempts: 3)).first() }
        #expect(opened.all.count == 1)
        await #expect(throws: BLEError.self) {
            try await failing.retry(.immediate(attempts: 3), when: { _ in true }).first()
        }
        #expect(opened.all.count == 5)
    }

    @Test func `a cancellation error is never retried`() async throws {
        let played = try await play { $0.source("a!", "b|").retry(.constant(.seconds(1)), when: { _ in true }) }
        #expect(played.output == "a!")
        #expect(played.openings.count == 1)
    }

    @Test func `cancellation ends the pause at once`() async throws {
        let played = try await play(Consumer(isCancelledIn: 3)) { $0.source("a#", "b|").retry(.constant(.seconds(9))) }
        #expect(played.output == "a--!")
        #expect(played.openings == ["0..<1"])
    }

    @Test func `leaving while the upstream is open closes that one`() async throws {
        let played = try await play(Consumer(breaksAfter: 2)) {
            $0.source("a#", "b-----").retry(.constant(.seconds(1)))
        }
        #expect(played.output == "a-b")
        #expect(played.openings == ["0..<1", "2..<2"])
        #expect(played.closings == [1, 1])
    }

    @Test func `the gap shows the first reason, and the time until the next element`() async throws {
        let played = try await play { $0.source("a#", "#", "--b-#", "c|").retry(.constant(.seconds(1))).withGaps() }
        #expect(played.output == "a----(~b)--(~c)|")
        let gaps = try await VirtualTime.run { time in
            try await Stage(time).source("a#", "#", "--b|").retry(.constant(.seconds(1))).withGaps()
                .compactMap(\.gap).collect()
        }
        #expect(gaps.map(\.duration) == [.seconds(4)])
        #expect((gaps.first?.reason as? BLEError)?.code == .disconnected)
        #expect(gaps.map(\.dropped) == [0])
    }

    @Test func `a stream that always fails at once, retried without pause, can be cancelled`() async throws {
        let openings = Mutex(0)
        let (enough, tell) = AsyncStream<Void>.makeStream()
        let failing = BLEStream<Int> { feed in
            let count = openings.withLock { count in
                count += 1
                return count
            }
            if count == 100 { tell.yield() }
            feed.finish(throwing: Stage.failure)
            return {}
        }
        let task = Task { try await failing.retry(.constant(.zero)).first() }
        for await _ in enough { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a part that was received before the failure is in the error when attempts are used up`() async throws {
        let played = try await play { stage in
            stage.source("[he]#").map { Array($0.utf8) }
                .assembled(until: .endOfMessage("EOM"))
                .retry(.constant(.seconds(1), attempts: 1))
        }
        #expect((played.error as? BLEError)?.received == Array("he".utf8))
    }

    @Test func `while it pauses it can be stopped`() async throws {
        let played = try await play {
            $0.source("a#", "b|").retry(.constant(.seconds(9))).take(until: $0.source("---x"))
        }
        #expect(played.output == "a--|")
        #expect(played.openings == ["0..<3", "0..<1"])
    }

    @Test(arguments: [true, false])
    func `a failure that a busy consumer finds behind a stop is the end, if it would have been retried`(
        isWorthwhile: Bool
    ) async throws {
        let played = try await play(Consumer(isBusyFor: 4)) {
            $0.source("a#", "b|").retry(.constant(.seconds(9)), when: { _ in isWorthwhile })
                .take(until: $0.source("--x"))
        }
        #expect(played.output == (isWorthwhile ? "a---|" : "a---#"))
        #expect(played.openings == ["0..<4", "0..<4"])
        #expect(played.closings == [1, 1])
    }
}
