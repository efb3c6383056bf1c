import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct AssembledTests {
    private func text(_ stage: Stage, _ diagrams: String, _ mark: EndMark, maximumSize: Int = 100) -> BLEStream<String>
    {
        stage.source(diagrams).map { Array($0.utf8) }
            .assembled(until: mark, maximumSize: maximumSize)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a message comes with its last chunk`() async throws {
        let played = try await play { text($0, "[hel][lo]-[EOM]-x[EOM]|", .endOfMessage("EOM")) }
        #expect(played.output == "---[hello]--x|")
    }

    @Test func `several messages in a chunk come at once, in order`() async throws {
        let played = try await play { text($0, "[a;b;c][;d;]|", .delimiter(";")) }
        #expect(played.output == "(ab)(cd)|")
    }

    @Test func `a message that is complete comes before the failure of the next`() async throws {
        let played = try await play { text($0, "[a;b;cdefgh]-|", .delimiter(";"), maximumSize: 4) }
        #expect(played.output == "(ab#)")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .overflow)
        #expect(error.received == Array("cdefgh".utf8))
        #expect(played.openings == ["0..<0"])
        #expect(played.closings == [1])
    }

    @Test func `an end in the middle of a message is an error with what had come`() async throws {
        let played = try await play { text($0, "a[EOM]bc|", .endOfMessage("EOM")) }
        #expect(played.output == "-a--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .ended)
        #expect(error.received == Array("bc".utf8))
    }

    @Test func `an error of the upstream takes what had come with it`() async throws {
        let played = try await play { text($0, "a[EOM]bc#", .endOfMessage("EOM")) }
        #expect(played.output == "-a--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .disconnected)
        #expect(error.received == Array("bc".utf8))
        let between = try await play { text($0, "a[EOM]#", .endOfMessage("EOM")) }
        #expect((between.error as? BLEError)?.received == nil)
    }

    @Test func `a timeout behind it takes what had come with it`() async throws {
        let played = try await play { stage in
            text(stage, "a[EOM]b-c----", .endOfMessage("EOM")).timeout(.seconds(4))
        }
        // It waits for messages, not for chunks.
        #expect(played.output == "-a---#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .timedOut)
        #expect(error.received == Array("bc".utf8))
    }

    @Test func `a timeout in front of it takes what had come with it`() async throws {
        let played = try await play { stage in
            stage.source("a-b------").map { Array($0.utf8) }
                .timeout(.seconds(4))
                .assembled(until: .endOfMessage("EOM"))
        }
        #expect(played.output == "------#")
        #expect((played.error as? BLEError)?.received == Array("ab".utf8))
    }

    @Test func `retried, it starts with a fresh message`() async throws {
        let played = try await play { stage in
            stage.source("a#", "b[EOM]|").map { Array($0.utf8) }
                .assembled(until: .endOfMessage("EOM"))
                .map { String(decoding: $0, as: UTF8.self) }
                .retry(.constant(.seconds(1)))
        }
        #expect(played.output == "---b|")
    }

    @Test func `behind a retry it gives up the message that was interrupted`() async throws {
        let played = try await play { stage in
            stage.source("a#", "b[EOM]|").map { Array($0.utf8) }
                .retry(.constant(.seconds(1)))
                .assembled(until: .endOfMessage("EOM"))
                .map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(played.output == "---b|")
    }

    @Test func `chunks that were dropped are no message with a hole but an error`() async throws {
        let played = try await play { text($0, "ab?c[EOM]|", .endOfMessage("EOM")) }
        #expect(played.output == "--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .overflow)
        #expect(error.received == Array("ab".utf8))
    }

    @Test func `stopped in the middle of a message it ends`() async throws {
        let played = try await play { stage in
            text(stage, "a[EOM]bc------", .endOfMessage("EOM")).take(until: stage.source("-----x"))
        }
        #expect(played.output == "-a---|")
    }

    @Test func `iterating again starts with an empty message`() async throws {
        let played = try await play(Consumer(breaksAfter: 1), iterations: 2) { stage in
            stage.source("[a;b]", "[c;]").map { Array($0.utf8) }
                .assembled(until: .delimiter(";"))
                .map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(played.output == "c")
    }
}
