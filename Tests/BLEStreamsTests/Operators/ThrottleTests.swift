import BLESimulator
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct ThrottleTests {
    @Test func `the first comes at once, then the latest of each interval`() async throws {
        let played = try await play { $0.source("abcdefg-------h|").throttle(for: .milliseconds(2300)) }
        // Free again after 2.3 (c), 4.6 (e) and 6.9 seconds (g).
        #expect(played.output == "a-c-e-g-------h|")
    }

    @Test func `what was held doesn't come behind a newer one`() async throws {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            // Polled only now and then, as by somebody who has other work.
            let cursor = stage.source("ab-c").throttle(for: .seconds(2)).open(Waker {})
            var seen = [try cursor.poll().element]
            await stage.work(for: 1, and: .milliseconds(500))
            seen.append(try cursor.poll().element)
            await stage.work(for: 2)
            seen.append(try cursor.poll().element)
            await stage.work(for: 9)
            seen.append(try cursor.poll().element)
            #expect(seen == ["a", nil, "c", nil], "b is held, and dropped when c comes")
            cursor.close()
        }
    }

    @Test func `slow values pass as they are`() async throws {
        let played = try await play { $0.source("a---b---c|").throttle(for: .seconds(2)) }
        #expect(played.output == "a---b---c|")
    }

    @Test func `what is held comes with the end and before an error`() async throws {
        let ended = try await play { $0.source("ab|").throttle(for: .seconds(9)) }
        #expect(ended.output == "a-(b|)")
        let failed = try await play { $0.source("ab#").throttle(for: .seconds(9)) }
        #expect(failed.output == "a-(b#)")
        #expect(failed.closings == [1])
    }

    @Test func `cancellation drops what is held`() async throws {
        let played = try await play(Consumer(isCancelledIn: 2)) { $0.source("ab---").throttle(for: .seconds(9)) }
        #expect(played.output == "a-!")
        #expect(played.openings == ["0..<2"])
    }

    @Test func `a source that never pauses can be left`() async throws {
        let task = Task {
            for try await _ in BLEStream(repeatElement(1, count: .max)).throttle(for: .seconds(3600)) {}
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `iterating again starts with the first at once`() async throws {
        let played = try await play(iterations: 2) { $0.source("ab|").throttle(for: .seconds(9)) }
        #expect(played.output == "a-(b|)")
        #expect(played.closings == [1, 1])
    }

    @Test func `leaving the loop drops what is held and closes the upstream`() async throws {
        let consumer = Consumer(breaksAfter: 2)
        let played = try await play(consumer) { $0.source("abc-d----").throttle(for: .seconds(3)) }
        #expect(played.output == "a--c")
        #expect(played.openings == ["0..<3"])
        #expect(played.closings == [1])
    }

    @Test func `a gap stays behind what came before it`() async throws {
        let held = try await play { $0.source("ab~----|").throttle(for: .seconds(4)).withGaps() }
        #expect(held.output == "a---(b~)--|")
        let replaced = try await play { $0.source("ab~c---|").throttle(for: .seconds(5)).withGaps() }
        #expect(replaced.output == "a--~-c-|")
        let busy = try await play(Consumer(isBusyFor: 4)) {
            $0.source("ab~c----d|").throttle(for: .seconds(2)).withGaps()
        }
        #expect(busy.output.filter { $0 != "-" } == "ab~cd|")
        let ended = try await play { $0.source("ab~|").throttle(for: .seconds(9)).withGaps() }
        #expect(ended.output == "a--(b~|)")
    }

    @Test func `stopped, it hands out what it holds`() async throws {
        let played = try await play { $0.source("ab----c").throttle(for: .seconds(9)).take(until: $0.source("---x")) }
        #expect(played.output == "a--(b|)")
        #expect(played.closings == [1, 1])
    }
}
