import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimeoutTests {
    @Test func `a wait that is too long fails at the limit, with the operation and the limit`() async throws {
        let played = try await play { $0.source("a--b-----c|").timeout(.seconds(4)) }
        #expect(played.output == "a--b---#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .timedOut)
        #expect(error.operation == "values")
        #expect(error.elapsed == .seconds(4))
        #expect(played.openings == ["0..<7"])
        #expect(played.closings == [1])
    }

    @Test func `each value starts the limit afresh`() async throws {
        let played = try await play { $0.source("---a---b---c|").timeout(.seconds(4)) }
        #expect(played.output == "---a---b---c|")
    }

    @Test func `the time in which the consumer is busy is its own`() async throws {
        let played = try await play(Consumer(isBusyFor: 6)) { $0.source("a------b|").timeout(.seconds(2)) }
        #expect(played.output == "a------b-----|")
    }

    @Test func `the first value alone can be limited`() async throws {
        let late = try await play { $0.source("-----a|").timeout(.seconds(4), for: .firstValue) }
        #expect(late.output == "----#")
        let inTime = try await play { $0.source("--a------b|").timeout(.seconds(4), for: .firstValue) }
        #expect(inTime.output == "--a------b|")
    }

    @Test func `the whole stream can be limited, whether values come or not`() async throws {
        let played = try await play { $0.source("abcdefgh|").timeout(.milliseconds(4500), for: .wholeStream) }
        #expect(played.output == "abcd(e#)")
        #expect((played.error as? BLEError)?.code == .timedOut)
        let short = try await play { $0.source("ab|").timeout(.seconds(4), for: .wholeStream) }
        #expect(short.output == "ab|")
    }

    @Test func `a limit for the whole stream holds for a source that never pauses`() async throws {
        let played = try await play(Consumer(isBusyFor: 2)) { stage in
            BLEStream(repeatElement("a", count: .max), timeline: stage.time).timeout(.seconds(3), for: .wholeStream)
        }
        #expect(played.output == "a-a-#")
    }

    @Test func `the limit begins when the iteration does`() async throws {
        let played = try await play(iterations: 3) { $0.source("--a|").timeout(.seconds(4), for: .wholeStream) }
        #expect(played.output == "--a|")
        #expect(played.openings.count == 3)
    }

    @Test func `the part of a message goes into the error`() async throws {
        let played = try await play { stage in
            stage.source("[he][ll]-----").map { Array($0.utf8) }
                .assembled(until: .endOfMessage("EOM"))
                .timeout(.seconds(3))
        }
        #expect(played.output == "---#")
        #expect((played.error as? BLEError)?.received == Array("hell".utf8))
    }

    @Test func `a limit of a limit is the shorter one`() async throws {
        let played = try await play {
            $0.source("-----a").timeout(.seconds(4)).timeout(.seconds(2)).timeout(.seconds(3))
        }
        #expect(played.output == "--#")
        #expect((played.error as? BLEError)?.elapsed == .seconds(2))
    }
}
