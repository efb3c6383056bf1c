import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimerTests {
    @Test func `a timer brings one element and the end`() async throws {
        let played = try await play(iterations: 2) { BLEStream.timer(after: .seconds(3), timeline: $0.time) }
        #expect(played.output == "---([()]|)")
    }

    @Test func `a timer without delay is over at once`() async throws {
        let played = try await play { BLEStream.timer(after: .seconds(-1), timeline: $0.time) }
        #expect(played.output == "([()]|)")
    }

    @Test func `a timer can be cancelled`() async throws {
        let played = try await play(Consumer(isCancelledIn: 2)) {
            BLEStream.timer(after: .seconds(9), timeline: $0.time)
        }
        #expect(played.output == "--!")
    }

    @Test func `an interval counts from 0 on, for ever`() async throws {
        let played = try await play(Consumer(breaksAfter: 4)) { BLEStream.interval(.seconds(2), timeline: $0.time) }
        #expect(played.output == "--0-1-2-3")
    }

    @Test func `an interval doesn't drift, and a busy consumer misses some`() async throws {
        let played = try await play(Consumer(breaksAfter: 4, isBusyFor: 5)) {
            BLEStream.interval(.seconds(2), timeline: $0.time)
        }
        // Busy from 2 to 7.1, past 0, 1 and 2; then to 12.2, past 3, 4 and 5; then to 17.3, past 6 and 7.
        #expect(played.output == "--0----2----5----7")
    }

    @Test func `an interval can be cancelled, stopped, and be one of several`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 3)) {
            BLEStream.interval(.seconds(2), timeline: $0.time)
        }
        #expect(cancelled.output == "--0!")
        let merged = try await play { stage in
            stage.source("-a-b---c").merge(with: BLEStream.interval(.seconds(2), timeline: stage.time).map { "\($0)" })
                .take(until: stage.source("-----x"))
        }
        #expect(merged.output == "-a0b1|")
    }

    @Test func `in real time both wait for real`() async throws {
        let numbers = try await BLEStream.interval(.milliseconds(1)).collect(2)
        #expect(numbers[0] < numbers[1])
        let moments: [Void] = try await BLEStream.timer(after: .milliseconds(1)).collect()
        #expect(moments.count == 1)
    }
}
