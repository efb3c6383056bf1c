import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct ZipTests {
    private static func zip(_ first: String, _ second: String) -> @Sendable (Stage) -> BLEStream<String> {
        { stage in stage.source(first).zip(with: stage.source(second)).map { $0 + $1 } }
    }

    @Test func `the first goes with the first, the second with the second`() async throws {
        let played = try await play(Consumer(), Self.zip("ab--c|", "--12-3--"))
        #expect(played.output == "--[a1][b2]-([c3]|)")
        #expect(played.openings == ["0..<5", "0..<5"])
        #expect(played.closings == [1, 1])
    }

    @Test func `it ends when one has ended and nothing of it is left`() async throws {
        let left = try await play(Consumer(), Self.zip("ab|", "1----2--"))
        #expect(left.output == "[a1]----([b2]|)")
        let right = try await play(Consumer(), Self.zip("a---b---", "1-|"))
        #expect(right.output == "[a1]-|")
        #expect(right.closings == [1, 1])
    }

    @Test func `the first error ends both`() async throws {
        let played = try await play(Consumer(), Self.zip("a-b--", "1-#"))
        #expect(played.output == "[a1]-#")
        #expect(played.closings == [1, 1])
    }

    @Test func `cancellation and break close both`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2), Self.zip("a---", "----"))
        #expect(cancelled.output == "--!")
        #expect(cancelled.openings == ["0..<2", "0..<2"])
        let left = try await play(Consumer(breaksAfter: 1), Self.zip("a---", "-1--"))
        #expect(left.openings == ["0..<1", "0..<1"])
        #expect(left.closings == [1, 1])
    }

    @Test func `the faster one waits in its own buffer, whose losses are seen`() async throws {
        let played = try await play { stage in
            stage.source("abcd|", buffer: .newest(1)).zip(with: stage.source("1----2|")).map { $0 + $1 }.withGaps()
        }
        // "b" is taken to wait for "2"; "c" gives way to "d".
        #expect(played.output == "[a1]----([b2]?)|")
        #expect(played.counters.dropped == 1)
    }

    @Test func `a stream that is paired with its own next elements is counted once`() async throws {
        let played = try await play { stage in
            let source = stage.source("abc|")
            return source.zip(with: source.dropFirst()).map { $0 + $1 }
        }
        #expect(played.output == "-[ab][bc]|")
        // Each of the two iterations has all of it.
        #expect(played.counters.received == 6)
        #expect(played.counters.dropped == 0)
    }

    @Test func `the counters are the sum of both`() async throws {
        let played = try await play(Consumer(breaksAfter: 1), Self.zip("(ab)", "(123)"))
        #expect(played.counters.received == 5)
        #expect(played.counters.delivered == 2)
        #expect(played.counters.dropped == 3)
    }
}
