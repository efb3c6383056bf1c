import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct PrefixForTests {
    @Test func `the stream ends when the time is over, and the upstream is closed`() async throws {
        let played = try await play { $0.source("a-b-c-d-e").prefix(for: .milliseconds(4500)) }
        #expect(played.output == "a-b-(c|)")
        #expect(played.openings == ["0..<4"])
        #expect(played.closings == [1])
    }

    @Test func `without elements it ends all the same`() async throws {
        let played = try await play { $0.source("-----").prefix(for: .seconds(3)) }
        #expect(played.output == "---|")
    }

    @Test func `an upstream that ends sooner ends it`() async throws {
        let played = try await play { $0.source("a-|").prefix(for: .seconds(9)) }
        #expect(played.output == "a-|")
    }

    @Test func `a source that never pauses is ended`() async throws {
        let played = try await play(Consumer(isBusyFor: 2)) { stage in
            BLEStream(repeatElement("a", count: .max), timeline: stage.time).prefix(for: .seconds(3))
        }
        #expect(played.output == "a-a-|")
    }

    @Test func `a busy consumer gets what was received, then the end`() async throws {
        let played = try await play(Consumer(isBusyFor: 4)) { $0.source("abc------").prefix(for: .seconds(3)) }
        #expect(played.output == "a---b---c---|")
    }

    @Test func `no time is an end`() async throws {
        let played = try await play { $0.source("-a").prefix(for: .zero) }
        #expect(played.output == "|")
        #expect(played.closings == [1])
    }

    @Test func `in no time comes what is there at once`() async throws {
        let played = try await play { $0.source("(ab)c").prefix(for: .zero) }
        #expect(played.output == "(ab|)")
        #expect(played.closings == [1])
    }

    @Test func `the time begins with each iteration`() async throws {
        let played = try await play(iterations: 2) { $0.source("a-b-c-d").prefix(for: .seconds(3)) }
        #expect(played.output == "a-b|")
        #expect(played.openings == ["0..<3", "3..<6"])
    }

    @Test func `cancellation and break stop the timer and close the upstream`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2)) { $0.source("a----").prefix(for: .seconds(9)) }
        #expect(cancelled.output == "a-!")
        #expect(cancelled.closings == [1])
        let left = try await play(Consumer(breaksAfter: 1)) { $0.source("-a---").prefix(for: .seconds(9)) }
        #expect(left.openings == ["0..<1"])
        #expect(left.closings == [1])
    }
}
