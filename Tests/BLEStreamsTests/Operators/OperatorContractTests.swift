import BLEStreams
import Testing

/// What every operator promises, whatever else it does.
@Suite(.timeLimit(.minutes(10))) struct OperatorContractTests {
    typealias Call = OperatorCase.Call

    private static let all = [bare] + OperatorCase.all.flatMap(\.calls)

    private static let bare = Call(testDescription: "no operator", manner: .plain) { $0 }

    private static func calls(_ manners: Set<OperatorCase.Manner>) -> [Call] {
        all.filter { manners.contains($0.manner) }
    }

    @Test(arguments: all)
    func `elements and the end pass`(tested: Call) async throws {
        let played = try await play { tested.apply($0.source("a-(bc)-|")) }
        #expect(played.output == "a-(bc)-|")
        #expect(played.openings == ["0..<4"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `a failure passes behind the elements before it`(tested: Call) async throws {
        let played = try await play { tested.apply($0.source("a-(b#)")) }
        #expect(played.output == "a-(b#)")
        #expect((played.error as? BLEError)?.code == .disconnected)
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `an upstream that fails with a cancellation error passes it`(tested: Call) async throws {
        let played = try await play { tested.apply($0.source("a-!")) }
        #expect(played.output == "a-!")
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `cancelling a consumer that waits ends it at once and closes the upstream`(tested: Call) async throws {
        let played = try await play(Consumer(isCancelledIn: 3)) { tested.apply($0.source("a-----b")) }
        #expect(played.output == "a--!")
        #expect(played.openings == ["0..<3"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `a consumer cancelled while busy gets no further element`(tested: Call) async throws {
        let consumer = Consumer(isCancelledIn: 2, isBusyFor: 4)
        let played = try await play(consumer) { tested.apply($0.source("abc---|")) }
        #expect(played.output == "a---!")
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `leaving the loop closes the upstream at once`(tested: Call) async throws {
        let played = try await play(Consumer(breaksAfter: 2)) { tested.apply($0.source("a-b-c-|")) }
        #expect(played.output == "a-b")
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `iterating again starts afresh`(tested: Call) async throws {
        let played = try await play(iterations: 2) { tested.apply($0.source("a-|", "b--c|")) }
        #expect(played.output == "b--c|")
        #expect(played.openings == ["0..<2", "2..<6"])
        #expect(played.closings == [1, 1])
    }

    @Test(arguments: all)
    func `nothing is opened before the first element is asked for`(tested: Call) async throws {
        let played = try await play { stage in
            let stream = tested.apply(stage.source("a|"))
            _ = stream.makeAsyncIterator()
            return BLEStream<String>([], timeline: stage.time)
        }
        #expect(played.openings.isEmpty)
    }

    @Test(arguments: all)
    func `a gap passes unseen`(tested: Call) async throws {
        let played = try await play { tested.apply($0.source("a~b|")) }
        #expect(played.output == "a-b|")
    }

    @Test(arguments: all.filter { $0.testDescription != "withGaps()" })
    func `a gap is seen where it is asked for`(tested: Call) async throws {
        let played = try await play { tested.apply($0.source("a~b|")).withGaps() }
        #expect(played.output == "a~b|")
    }

    @Test(arguments: calls([.plain, .buffering, .pairing]))
    func `a stream that is stopped hands out what it has`(tested: Call) async throws {
        // The signal and the last element come while the consumer is busy with the first one.
        let played = try await play(Consumer(isBusyFor: 4)) { stage in
            tested.apply(stage.source("abc---d-|")).take(until: stage.source("---s"))
        }
        #expect(played.output == "a---b---c---|")
        #expect(played.closings == [1, 1])
    }

    @Test(arguments: calls([.plain, .opening]))
    func `the counters are those of the source`(tested: Call) async throws {
        let played = try await play(Consumer(breaksAfter: 2)) { tested.apply($0.source("(abcde)")) }
        #expect(played.counters.received == 5)
        #expect(played.counters.delivered + played.counters.dropped == 5)
        #expect(played.counters.delivered == 2)
    }

    @Test(arguments: OperatorCase.all.flatMap(\.throwingCalls))
    func `an error of a closure ends the stream and closes the upstream`(tested: Call) async throws {
        let played = try await play { tested.apply($0.source("a-b-c|")) }
        #expect(played.output == "a-#")
        #expect((played.error as? BLEError)?.code == .disconnected)
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }
}
