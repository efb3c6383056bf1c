import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Streams made of other asynchronous sequences: the laws of sources.
@Suite(.timeLimit(.minutes(10))) struct ForeignSequenceTests {
    private static func foreign(_ stage: Stage, _ diagram: String) -> BLEStream<String> {
        BLEStream(stage.source(diagram), timeline: stage.time)
    }

    @Test func `elements and the end pass`() async throws {
        let played = try await play { Self.foreign($0, "a-(bc)-|") }
        #expect(played.output == "a-(bc)-|")
        #expect(played.openings == ["0..<4"])
        #expect(played.closings == [1])
    }

    @Test func `a failure passes behind the elements before it`() async throws {
        let played = try await play { Self.foreign($0, "a-(b#)") }
        #expect(played.output == "a-(b#)")
        #expect((played.error as? BLEError)?.code == .disconnected)
        #expect(played.closings == [1])
    }

    @Test func `cancelling a consumer that waits ends it at once and closes the sequence`() async throws {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            let stream = Self.foreign(stage, "a-----b")
            await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    do {
                        for try await _ in stream {}
                        return false
                    } catch {
                        return error is CancellationError && stage.second == 3
                    }
                }
                try? await time.sleep(for: .seconds(3))
                group.cancelAll()
                #expect(await group.next() == true)
            }
            // Its task takes notice.
            try await time.sleep(for: .milliseconds(1))
            #expect(stage.openings.map(\.description) == ["0..<3"] && stage.openings.map(\.closings) == [1])
        }
    }

    @Test func `leaving the loop closes the sequence at once`() async throws {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            for try await letter in Self.foreign(stage, "a-b-c-|") where letter == "b" { break }
            try await time.sleep(for: .milliseconds(1))
            #expect(stage.openings.map(\.description) == ["0..<2"] && stage.openings.map(\.closings) == [1])
        }
    }

    @Test func `iterating again starts afresh`() async throws {
        let played = try await play(iterations: 2) {
            BLEStream($0.source("a-|", "b--c|"), timeline: $0.time)
        }
        #expect(played.output == "b--c|")
        #expect(played.openings == ["0..<2", "2..<6"])
        #expect(played.closings == [1, 1])
    }

    @Test func `nothing is opened before the first element is asked for`() async throws {
        let played = try await play { stage in
            _ = Self.foreign(stage, "a|").makeAsyncIterator()
            return BLEStream<String>([], timeline: stage.time)
        }
        #expect(played.openings.isEmpty)
    }

    @Test func `a slow consumer loses nothing, and nothing is read ahead of it`() async throws {
        try await VirtualTime.run { time in
            let produced = Mutex(0)
            let numbers = AsyncStream<Int>(unfolding: {
                produced.withLock { count -> Int? in
                    count += 1
                    return count <= 1000 ? count : nil
                }
            })
            var seen: [Int] = []
            for try await number in BLEStream(numbers, timeline: time) {
                seen.append(number)
                if number % 100 == 0 { try await time.sleep(for: .seconds(1)) }
                #expect(produced.withLock { $0 } == number)
            }
            #expect(seen == Array(1...1000))
        }
    }

    @Test func `it is stopped, timed out and merged as any other`() async throws {
        let stopped = try await play(isNoticed: true) { Self.foreign($0, "a-b-c-d").take(until: $0.source("---s")) }
        #expect(stopped.output == "a-b|")
        let late = try await play(isNoticed: true) { Self.foreign($0, "a----b").timeout(.seconds(2)) }
        #expect((late.error as? BLEError)?.code == .timedOut)
        let merged = try await play(isNoticed: true) { Self.foreign($0, "a--c|").merge(with: $0.source("-b|")) }
        #expect(merged.output == "ab-c|")
    }

    @Test func `in real time a foreign sequence is read too`() async throws {
        let numbers = AsyncStream<Int> { feed in
            for number in 0..<100 { feed.yield(number) }
            feed.finish()
        }
        #expect(try await BLEStream(numbers).collect() == Array(0..<100))
    }
}
