import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct PresenceTests {
    private static func text(_ event: Presence<String, String>) -> String {
        switch event {
        case .enter(let key, _): "+\(key)"
        case .update(let key, _): "=\(key)"
        case .leave(let key, _): "-\(key)"
        }
    }

    /// Who is there for four seconds after each sign of life.
    private static func presence(_ diagram: String, limit: Int = 100) -> @Sendable (Stage) -> BLEStream<String> {
        { stage in
            stage.source(diagram).presence(by: { $0 }, timeout: .seconds(4), limit: limit).map { text($0) }
        }
    }

    @Test func `who comes enters, who stays is updated, who falls silent leaves`() async throws {
        let played = try await play(Consumer(), Self.presence("ab-a------b|"))
        #expect(played.output == "[+a][+b]-[=a]-[-b]-[-a]--[+b]|")
        #expect(played.openings == ["0..<11"])
        #expect(played.closings == [1])
    }

    @Test func `events carry the element, and leaving the last one`() async throws {
        let played = try await play { stage in
            stage.source("[a1][b1][a2]-----|").presence(by: { $0.prefix(1) }, timeout: .seconds(3)).map { event in
                if case .leave(let key, let last) = event { "\(key) left with \(last)" } else { event.value }
            }
        }
        #expect(played.output == "[a1][b1][a2]-[b left with b1][a left with a2]--|")
    }

    @Test func `several that fall silent at once all leave`() async throws {
        let played = try await play(Consumer(), Self.presence("(abc)-----|"))
        #expect(played.output == "([+a][+b][+c])---([-a][-b][-c])-|")
    }

    @Test func `nobody leaves while elements wait that may be theirs`() async throws {
        let played = try await play(Consumer(isBusyFor: 6), Self.presence("a-a-a-a|"))
        #expect(played.output == "[+a]-----[=a]-----[=a]-----[=a]-----|")
    }

    @Test func `where there is no room, newcomers are ignored, counted and seen as gaps`() async throws {
        let played = try await play { Self.presence("abc-----c|", limit: 2)($0).withGaps() }
        #expect(played.output == "[+a][+b]?-[-a][-b]--[+c]|")
        #expect(played.counters.received == 4)
        #expect(played.counters.delivered == 3)
        #expect(played.counters.dropped == 1)
    }

    @Test func `who is known is updated where there is no room`() async throws {
        let played = try await play(Consumer(), Self.presence("aba-----|", limit: 1))
        #expect(played.output == "[+a]-[=a]---[-a]-|")
    }

    @Test func `one who has fallen silent makes room for a newcomer, in that order`() async throws {
        let played = try await play(Consumer(isBusyFor: 7), Self.presence("a-----b|", limit: 1))
        #expect(played.output == "[+a]------[-a]------[+b]------|")
        #expect(played.counters.dropped == 0)
    }

    @Test func `a flood of newcomers takes no room from those who are known`() async throws {
        let flood = BLEStream(0..<100_000).presence(by: { $0 % 50_000 }, timeout: .seconds(60), limit: 3)
        let events = try await flood.collect()
        #expect(events == [.enter(0, 0), .enter(1, 1), .enter(2, 2)] + (0..<3).map { .update($0, 50_000 + $0) })
        #expect(flood.counters.dropped == 99_994)
    }

    /// Newcomers without a pause, of which the first is followed and the others are a gap; who takes them is cancelled
    /// at the eleventh.
    static func newcomersWithoutPause() -> BLEStream<Presence<Int, Int>> {
        BLEStream(0...).presence(
            by: { (number: Int) throws -> Int in
                if number == 10 { withUnsafeCurrentTask { $0?.cancel() } }
                // Otherwise it would go on for ever.
                if number == 100_000 { throw Stage.failure }
                return number
            },
            timeout: .seconds(60),
            limit: 1
        )
    }

    @Test(arguments: [false, true])
    func `a source that never pauses and brings only newcomers can be left`(receives: Bool) async throws {
        let newcomers = Self.newcomersWithoutPause()
        let task = Task {
            if receives { return try await newcomers.receive { _ in } }
            for try await _ in newcomers {}
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a stream that is merged with its own presence is counted once`() async throws {
        let played = try await play { stage in
            let source = stage.source("abc|")
            let presence = source.presence(by: { $0 }, timeout: .seconds(4), limit: 2)
            return source.map { _ in "x" }.merge(with: presence.map { _ in "x" })
        }
        // Each of the two iterations has all of it, and one of them ignores the last.
        #expect(played.output == "(xx)(xx)x|")
        #expect(played.counters.received == 6)
        #expect(played.counters.delivered == 5)
        #expect(played.counters.dropped == 1)
    }

    @Test func `the end and an error are nobody's leaving`() async throws {
        let failed = try await play(Consumer(), Self.presence("ab#"))
        #expect(failed.output == "[+a][+b]#")
        #expect(failed.closings == [1])
    }

    @Test func `behind retry nobody is forgotten while the upstream starts afresh`() async throws {
        let played = try await play { stage in
            stage.source("a#", "-ab---|").retry(.constant(.seconds(1))).presence(by: { $0 }, timeout: .seconds(9))
                .map { Self.text($0) }
        }
        #expect(played.output == "[+a]--[=a][+b]---|")
    }

    @Test func `cancellation and break stop the timer and close the upstream`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2), Self.presence("a------"))
        #expect(cancelled.output == "[+a]-!")
        #expect(cancelled.openings == ["0..<2"])
        let left = try await play(Consumer(breaksAfter: 2), Self.presence("a------"))
        #expect(left.output == "[+a]---[-a]")
        #expect(left.openings == ["0..<4"])
        #expect(left.closings == [1])
    }
}
