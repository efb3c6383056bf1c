import BLEStreams
import Testing

@Suite struct FirstTests {
    @Test func `first closes the stream as soon as the element is there`() async throws {
        let closed = Recorder<Int>()
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2, 3])
            return { closed.add(feed.counters.received) }
        }
        #expect(try await stream.first() == 1)
        #expect(closed.all == [3])
        #expect(stream.counters.delivered == 1)
        #expect(stream.counters.dropped == 2)
    }

    @Test func `first of a stream without elements is an error that says so`() async throws {
        let error = await #expect(throws: BLEError.self) { try await BLEStream<Int>([]).first() }
        #expect(error?.code == .ended)
    }

    @Test func `first where skips what doesn't meet the condition`() async throws {
        #expect(try await BLEStream([1, 2, 3, 4]).first { $0 > 2 } == 3)
        let error = await #expect(throws: BLEError.self) { try await BLEStream([1, 2]).first { $0 > 2 } }
        #expect(error?.code == .ended)
    }

    @Test func `first passes the error of the stream`() async throws {
        let failing = BLEStream<Int> { feed in
            feed.finish(throwing: Stage.failure)
            return {}
        }
        let error = await #expect(throws: BLEError.self) { try await failing.first() }
        #expect(error?.code == .disconnected)
    }

    @Test func `collect takes all, or as many as asked for`() async throws {
        #expect(try await BLEStream([1, 2, 3]).collect() == [1, 2, 3])
        #expect(try await BLEStream([1, 2, 3]).collect(2) == [1, 2])
        #expect(try await BLEStream([1, 2, 3]).collect(0) == [])
    }

    @Test func `a cancelled task gets no first element, even one that is there`() async throws {
        let opened = Recorder<Int>()
        let stream = BLEStream<Int> { feed in
            opened.add(1)
            feed.send(1)
            return {}
        }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await stream.first()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(opened.all.isEmpty)
    }
}
