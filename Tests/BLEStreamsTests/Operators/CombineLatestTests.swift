import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct CombineLatestTests {
    private static func combine(_ first: String, _ second: String) -> @Sendable (Stage) -> BLEStream<String> {
        { stage in stage.source(first).combineLatest(with: stage.source(second)).map { $0 + $1 } }
    }

    @Test func `whatever comes goes with the latest of the other, until both have ended`() async throws {
        let played = try await play(Consumer(), Self.combine("a--b----|", "-1---2|"))
        #expect(played.output == "-[a1]-[b1]-[b2]--|")
        #expect(played.openings == ["0..<8", "0..<8"])
        #expect(played.closings == [1, 1])
    }

    @Test func `nothing comes before both have brought something`() async throws {
        let played = try await play(Consumer(), Self.combine("abc--|", "---1|"))
        #expect(played.output == "---[c1]-|")
    }

    @Test func `one that ends without anything ends it`() async throws {
        let played = try await play(Consumer(), Self.combine("--|", "a-b-c-d"))
        #expect(played.output == "--|")
        #expect(played.closings == [1, 1])
    }

    @Test func `two that always have something take turns`() async throws {
        let pairs = BLEStream(["a", "b"]).combineLatest(with: BLEStream([1, 2])).map { "\($0)\($1)" }
        #expect(try await pairs.collect() == ["a1", "b1", "b2"])
    }

    @Test func `the first error ends both`() async throws {
        let played = try await play(Consumer(), Self.combine("a---", "-1-#"))
        #expect(played.output == "-[a1]-#")
        #expect(played.closings == [1, 1])
    }

    @Test func `the first error comes behind what waits of the other`() async throws {
        let first = try await play(Consumer(isBusyFor: 6), Self.combine("a--#", "-1234----5"))
        #expect(first.output == "-[a1]-----[a2]-----[a3]-----[a4]-----#")
        #expect(first.closings == [1, 1])
        let second = try await play(Consumer(isBusyFor: 6), Self.combine("-abcd----e", "1--#"))
        #expect(second.output == "-[a1]-----[b1]-----[c1]-----[d1]-----#")
        let alone = try await play(Consumer(), Self.combine("--#", "1-----"))
        #expect(alone.output == "--#")
    }

    @Test func `cancellation and break close both`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2), Self.combine("a---", "----"))
        #expect(cancelled.output == "--!")
        #expect(cancelled.openings == ["0..<2", "0..<2"])
        let left = try await play(Consumer(breaksAfter: 1), Self.combine("a---", "-1--"))
        #expect(left.openings == ["0..<1", "0..<1"])
        #expect(left.closings == [1, 1])
    }

    @Test func `a source that never pauses can be left while the other brings nothing`() async throws {
        let never = BLEStream<Int> { _ in {} }
        let task = Task { try await BLEStream(0...).combineLatest(with: never).first() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `gaps of both pass`() async throws {
        let played = try await play { stage in
            stage.source("a~---|").combineLatest(with: stage.source("1--~-|")).map { $0 + $1 }.withGaps()
        }
        #expect(played.output == "[a1]~-~-|")
    }

    @Test func `the counters are the sum of both`() async throws {
        let played = try await play(Consumer(breaksAfter: 1), Self.combine("(ab)", "(123)"))
        #expect(played.counters.received == 5)
        #expect(played.counters.delivered == 2)
        #expect(played.counters.dropped == 3)
    }
}
