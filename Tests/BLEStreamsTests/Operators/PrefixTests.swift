import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct PrefixTests {
    @Test func `prefix closes the upstream together with its last element`() async throws {
        let played = try await play { $0.source("a-b-c-|").prefix(2) }
        #expect(played.output == "a-(b|)")
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test func `prefix of none never opens the upstream`() async throws {
        let played = try await play { $0.source("a|").prefix(0) }
        #expect(played.output == "|")
        #expect(played.openings.isEmpty)
    }

    @Test func `prefix of more than there is ends with the upstream`() async throws {
        let played = try await play { $0.source("a-|").prefix(9) }
        #expect(played.output == "a-|")
    }

    @Test func `what waits behind a prefix is dropped and counted`() async throws {
        let played = try await play { $0.source("(abcde)").prefix(2) }
        #expect(played.output == "(ab|)")
        #expect(played.counters.delivered == 2)
        #expect(played.counters.dropped == 3)
    }

    @Test func `take until an element includes it`() async throws {
        let played = try await play { $0.source("a-b-c-|").take { $0 == "b" } }
        #expect(played.output == "a-(b|)")
        #expect(played.openings == ["0..<2"])
    }

    @Test func `take until an element can leave it out`() async throws {
        let played = try await play { $0.source("a-b-c-|").take(including: false) { $0 == "b" } }
        #expect(played.output == "a-|")
        #expect(played.openings == ["0..<2"])
    }

    @Test func `an error of the condition ends the stream`() async throws {
        let played = try await play { $0.source("a-b|").take { _ in throw Stage.failure } }
        #expect(played.output == "#")
        #expect(played.closings == [1])
    }

    @Test func `take until a stream ends with that stream's first element and closes both`() async throws {
        let played = try await play { $0.source("a-b-c-d").take(until: $0.source("---xx")) }
        #expect(played.output == "a-b|")
        #expect(played.openings == ["0..<3", "0..<3"])
        #expect(played.closings == [1, 1])
    }

    @Test func `the end of the other stream changes nothing and closes it`() async throws {
        let played = try await play { $0.source("a-b-c|").take(until: $0.source("-|")) }
        #expect(played.output == "a-b-c|")
        #expect(played.openings == ["0..<5", "0..<1"])
        #expect(played.closings == [1, 1])
    }

    @Test func `an error of the other stream passes`() async throws {
        let played = try await play { $0.source("a-b-c|").take(until: $0.source("---#")) }
        #expect(played.output == "a-b#")
        #expect(played.closings == [1, 1])
    }

    @Test func `an error of the other stream comes behind what waits, and nothing new comes`() async throws {
        let played = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("abc----d").take(until: stage.source("-#"))
        }
        #expect(played.output == "a-----b-----c-----#")
        #expect(played.openings == ["0..<6", "0..<18"])
        #expect(played.closings == [1, 1])
    }

    @Test func `an own error comes behind its elements, whatever the other stream does`() async throws {
        let played = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("ab!").take(until: stage.source("-#"))
        }
        #expect(played.output == "a-----b-----!")
    }

    @Test func `an error of the other stream takes what had come of a message with it`() async throws {
        let played = try await play { stage in
            stage.source("[a;b]c----").map { Array($0.utf8) }.assembled(until: .delimiter(";"))
                .map { String(decoding: $0, as: UTF8.self) }.take(until: stage.source("---#"))
        }
        #expect(played.output == "a--#")
        #expect((played.error as? BLEError)?.received == Array("bc".utf8))
    }

    @Test func `a slow consumer of a buffer that never runs dry is ended by the signal`() async throws {
        let played = try await play(Consumer(isBusyFor: 2)) { stage in
            stage.source("abcdefghijklmnop", buffer: .newest(1)).take(until: stage.source("-----x"))
        }
        #expect(played.output == "a-c-e-g-|")
    }

    @Test func `a signal that never pauses and brings only gaps can be cancelled`() async throws {
        let gaps = PresenceTests.newcomersWithoutPause().dropFirst()
        let task = Task { try await BLEStream<Int> { _ in {} }.take(until: gaps).collect() }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `cancellation and break close the signal too`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2)) {
            $0.source("a-----").take(until: $0.source("-----x"))
        }
        #expect(cancelled.openings == ["0..<2", "0..<2"])
        let left = try await play(Consumer(breaksAfter: 1)) { $0.source("-a").take(until: $0.source("-----x")) }
        #expect(left.openings == ["0..<1", "0..<1"])
        #expect(left.closings == [1, 1])
    }
}
