import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct FirstTests {
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
        #expect(error?.code == .ended && error?.remedy.isEmpty == false)
    }

    @Test func `first where skips what doesn't meet the condition`() async throws {
        #expect(try await BLEStream([1, 2, 3, 4]).first { $0 > 2 } == 3)
        let error = await #expect(throws: BLEError.self) { try await BLEStream([1, 2]).first { $0 > 2 } }
        #expect(error?.code == .ended && error?.remedy.isEmpty == false)
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

    /// A stream with an element that is there, and which notes that it was opened.
    static func oneElement(_ opened: Recorder<Int>) -> BLEStream<Int> {
        BLEStream { feed in
            opened.add(1)
            feed.send(1)
            return {}
        }
    }

    @Test func `a cancelled task gets no first element, even one that is there`() async throws {
        let opened = Recorder<Int>()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await Self.oneElement(opened).first()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(opened.all.isEmpty)
    }

    @Test func `an error of the condition of first passes, and closes the stream`() async throws {
        let closed = Recorder<Int>()
        let stream = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2, 3])
            return { closed.add(feed.counters.delivered) }
        }
        let error = await #expect(throws: BLEError.self) {
            try await stream.first { if $0 == 2 { throw Stage.failure } else { false } }
        }
        #expect(error?.code == .disconnected)
        #expect(closed.all == [2])
    }

    @Test func `collect passes the error of the stream, however much came before it`() async throws {
        let closings = Recorder<Int>()
        let failing = BLEStream<Int> { feed in
            feed.send(contentsOf: [1, 2])
            feed.finish(throwing: Stage.failure)
            return { closings.add(1) }
        }
        let error = await #expect(throws: BLEError.self) { try await failing.collect() }
        #expect(error?.code == .disconnected)
        #expect(try await failing.collect(2) == [1, 2])
        #expect(closings.all == [1, 1])
    }

    @Test(arguments: ["first", "first where", "collect"])
    func `cancellation while it waits ends it at once, and closes the stream`(name: String) async throws {
        let (stage, ended) = try await VirtualTime.run { time in
            let stage = Stage(time)
            let stream = stage.source("-a-----b")
            let ended = await withTaskGroup(of: Int.self) { group in
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        switch name {
                        case "first": _ = try await stage.source("-----a").first()
                        case "first where": _ = try await stream.first { $0 == "b" }
                        default: _ = try await stream.collect()
                        }
                    }
                    return stage.second
                }
                try? await time.sleep(for: .seconds(3))
                group.cancelAll()
                return await group.next()
            }
            return (stage, ended)
        }
        #expect(ended == 3)
        #expect(stage.openings.map(\.description) == ["0..<3"])
        #expect(stage.openings.map(\.closings) == [1])
    }
}
