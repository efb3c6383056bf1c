import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct BatchedTests {
    @Test func `what has come together is one batch, and what comes alone is one, too`() async throws {
        let batches = try await BLEStream([1, 2, 3, 4, 5]).batched(atMost: 2).collect()
        #expect(batches == [[1, 2], [3, 4], [5]])
        let played = try await play(iterations: 2) { $0.source("a-b-c|").batched().map { $0.joined() } }
        #expect(played.output == "a-b-c|")
        #expect(played.closings == [1, 1])
    }

    @Test func `values that piled up while the consumer was busy are one batch`() async throws {
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2, 3])
            feed.send(4)
            feed.finish()
            return {}
        }
        #expect(try await stream.batched().collect() == [[1, 2, 3, 4]])
    }

    @Test func `an error comes behind the values before it`() async throws {
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2])
            feed.finish(throwing: Stage.failure)
            return {}
        }
        var iterator = stream.batched().makeAsyncIterator()
        #expect(try await iterator.next() == [1, 2])
        await #expect(throws: BLEError.self) { _ = try await iterator.next() }
        #expect(try await iterator.next() == nil)
    }

    @Test func `a gap stands between two batches`() async throws {
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2])
            feed.lost(7)
            feed.send(3)
            feed.finish()
            return {}
        }
        let parts = try await stream.batched().withGaps().map { item in
            switch item {
            case .value(let batch): "\(batch)"
            case .gap(let gap): "gap \(gap.dropped)"
            }
        }.collect()
        #expect(parts == ["[1, 2]", "gap 7", "[3]"])
    }

    @Test func `a source that never pauses is handed out in batches of the limit, and can be left`() async throws {
        let endless = BLEStream(repeatElement(1, count: .max)).batched(atMost: 10)
        #expect(try await endless.first().count == 10)
        let task = Task { for try await _ in endless {} }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
