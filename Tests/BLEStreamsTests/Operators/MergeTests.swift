import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct MergeTests {
    @Test func `elements come as they come, and the end when all have ended`() async throws {
        let played = try await play { stage in
            stage.source("a--b|").merge(with: stage.source("-x----y|"), stage.source("--1|"))
        }
        #expect(played.output == "ax1b--y|")
        #expect(played.openings == ["0..<4", "0..<7", "0..<3"])
        #expect(played.closings == [1, 1, 1])
    }

    @Test func `no streams are an end`() async throws {
        #expect(try await [BLEStream<Int>]().merged().collect() == [])
    }

    @Test func `the first error ends all`() async throws {
        let played = try await play { stage in
            [stage.source("a-b-c|"), stage.source("-x-#")].merged()
        }
        #expect(played.output == "axb#")
        #expect(played.openings == ["0..<3", "0..<3"])
        #expect(played.closings == [1, 1])
    }

    @Test func `the first error comes behind what waits of the others, and nothing new comes`() async throws {
        // "z" would come after the failure is noticed.
        let played = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("a#").merge(with: stage.source("-bcd----------------z"), stage.source("--1#"))
        }
        #expect(played.output == "a-----b-----1-----c-----d-----#")
        #expect(played.openings == ["0..<18", "0..<18", "0..<18"])
        #expect(played.closings == [1, 1, 1])
    }

    @Test func `a gap of another stream comes before the error`() async throws {
        let played = try await play(Consumer(isBusyFor: 6)) { stage in
            stage.source("a#").merge(with: stage.source("-b~c---")).withGaps()
        }
        #expect(played.output == "a-----b-----~-----c-----#")
    }

    @Test func `an error ends one that never pauses`() async throws {
        let endless = BLEStream(repeatElement("a", count: .max))
        let failing = BLEStream<String> { feed in
            feed.send("b")
            feed.finish(throwing: Stage.failure)
            return {}
        }
        let seen = Recorder<String>()
        await #expect(throws: BLEError.self) {
            for try await element in endless.merge(with: failing) { seen.add(element) }
        }
        #expect(seen.all == ["a", "b", "a"])
    }

    @Test func `cancellation and break close all`() async throws {
        let cancelled = try await play(Consumer(isCancelledIn: 2)) { $0.source("a---").merge(with: $0.source("-----")) }
        #expect(cancelled.output == "a-!")
        #expect(cancelled.openings == ["0..<2", "0..<2"])
        let left = try await play(Consumer(breaksAfter: 2)) { $0.source("a---").merge(with: $0.source("-b---")) }
        #expect(left.openings == ["0..<1", "0..<1"])
        #expect(left.closings == [1, 1])
    }

    @Test func `each value comes with its source`() async throws {
        let played = try await play { stage in
            [2, 3].merged { second in
                stage.source(String(repeating: "-", count: second) + "x|")
            }.map { source, value in "\(value)\(source)" }
        }
        #expect(played.output == "--[x2][x3]|")
    }

    @Test func `one that always has something doesn't starve another`() async throws {
        let values = [repeatElement("a", count: 100), repeatElement("b", count: 3)].map { BLEStream($0) }
        let merged = try await values.merged().collect(7)
        #expect(merged == ["a", "b", "a", "b", "a", "b", "a"])
    }

    @Test func `only those with news are polled`() async throws {
        let polls = Recorder<Int>()
        let played = try await play(seeds: 1...1) { stage in
            (0..<100).map { number in
                stage.source(number == 70 ? "-a-b-c-|" : "-------|").filter { element in
                    polls.add(number)
                    return true
                }
            }.merged()
        }
        #expect(played.output == "-a-b-c-|")
        #expect(Set(polls.all) == [70])
    }

    @Test func `the counters are the sum of all`() async throws {
        let played = try await play(Consumer(breaksAfter: 1)) { $0.source("(ab)").merge(with: $0.source("(cde)")) }
        #expect(played.counters.received == 5)
        #expect(played.counters.delivered == 1)
        #expect(played.counters.dropped == 4)
    }

    @Test func `a stream that is merged with itself is counted once`() async throws {
        let played = try await play { stage in
            let source = stage.source("a?b|")
            return source.merge(with: source.filter { _ in true }).withGaps()
        }
        // Each of the two iterations has all of it.
        #expect(played.output == "(aa)(??)(bb)|")
        #expect(played.counters.received == 6)
        #expect(played.counters.delivered == 4)
        #expect(played.counters.dropped == 2)
    }

    @Test func `a cancellation error of one ends all`() async throws {
        let played = try await play { $0.source("a-b-c|").merge(with: $0.source("-x-!")) }
        #expect(played.output == "axb!")
        #expect(played.closings == [1, 1])
    }

    @Test func `an error in making a stream passes, and none is opened`() async throws {
        let opened = Recorder<Int>()
        #expect(throws: BLEError.self) {
            try [1, 2].merged { number in
                if number == 2 { throw Stage.failure }
                return BLEStream<Int> { _ in
                    opened.add(number)
                    return {}
                }
            }
        }
        #expect(opened.all.isEmpty)
    }
}
