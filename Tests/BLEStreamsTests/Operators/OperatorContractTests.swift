import BLEStreams
import Testing

/// What every operator promises, whatever else it does.
@Suite(.timeLimit(.minutes(10))) struct OperatorContractTests {
    struct Operator: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var apply: @Sendable (BLEStream<String>) -> BLEStream<String>

        init(_ name: String, _ apply: @escaping @Sendable (BLEStream<String>) -> BLEStream<String>) {
            testDescription = name
            self.apply = apply
        }
    }

    /// Each operator, so set that every element passes in the second in which it comes.
    static let operators = [
        Operator("none") { $0 },
        Operator("map") { $0.map { $0 } },
        Operator("compactMap") { $0.compactMap { $0 } },
        Operator("filter") { $0.filter { _ in true } },
        Operator("onEach") { $0.onEach { _ in } },
        Operator("prefix") { $0.prefix(100) },
        Operator("prefix for a time") { $0.prefix(for: .seconds(90)) },
        Operator("dropFirst") { $0.dropFirst(0) },
        Operator("drop while") { $0.drop { _ in false } },
        Operator("take until element") { $0.take { $0 == "z" } },
        Operator("take until stream") { $0.take(until: never) },
        Operator("timeout") { $0.timeout(.seconds(90)) },
        Operator("timeout for first value") { $0.timeout(.seconds(90), for: .firstValue) },
        Operator("timeout for whole stream") { $0.timeout(.seconds(90), for: .wholeStream) },
        Operator("retry that isn't worthwhile") { $0.retry(.constant(.seconds(1))) { _ in false } },
        Operator("reductions") { $0.reductions(into: "") { $0 = $1 } },
        Operator("distinct") { $0.distinct() },
        Operator("distinct by key") { $0.distinct { $0 } },
        Operator("merge") { $0.merge(with: BLEStream([])) },
        Operator("merged with source") { [$0].merged { $0 }.map { $0.value } },
        Operator("combineLatest") { $0.combineLatest(with: BLEStream([0])).map(\.0) },
        Operator("presence") { $0.presence(by: { $0 }, timeout: .seconds(90)).map(\.value) },
        Operator("moving average of elements") { numbers($0).movingAverage(ofLast: 1).map(letter) },
        Operator("moving average over a time") { numbers($0).movingAverage(over: .seconds(90), limit: 1).map(letter) },
        Operator("withGaps") { $0.withGaps().compactMap(\.value) },
        Operator("batched") { $0.batched(atMost: 1).map { $0[0] } },
        Operator("assembled") { stream in
            stream.map { Array($0.utf8) + [0] }.assembled(until: .endOfMessage(atEndOfChunk: [0])).map {
                String(decoding: $0, as: UTF8.self)
            }
        },
        Operator("bytes") { $0.map { Array($0.utf8) }.bytes.map { String(decoding: [$0], as: UTF8.self) } },
    ]

    /// Those that take everything from the source's buffer at once: what waits, waits in them.
    static let buffering = [
        Operator("throttle") { $0.throttle(for: .nanoseconds(1)) },
        Operator("buffered") { $0.buffered(.unbounded) },
        Operator("share") { $0.share() },
        Operator("share with replay") { $0.share(replay: 3) },
        Operator("share, twice") { $0.share().share() },
    ]

    /// Those with a source of their own, whose counters are added.
    static let pairing = [
        Operator("zip") { $0.zip(with: hundred).map(\.0) }
    ]

    /// Those that open streams: when they are stopped, what waits for that is dropped.
    static let opening = [
        Operator("flatMap") { $0.flatMap { BLEStream([$0]) } },
        Operator("flatMap, merging") { $0.flatMap(merging: 3) { BLEStream([$0]) } },
    ]

    private static let all = operators + buffering + pairing + opening

    private static let never = BLEStream<Int> { _ in {} }

    private static let hundred = BLEStream<Int> { feed in
        feed.send(contentsOf: 0..<100)
        return {}
    }

    private static func numbers(_ stream: BLEStream<String>) -> BLEStream<Double> {
        stream.map { $0.utf8.reduce(0) { $0 * 256 + Double($1) } }
    }

    @Sendable private static func letter(_ number: Double) -> String { String(UnicodeScalar(UInt8(number))) }

    @Test(arguments: all)
    func `elements and the end pass`(tested: Operator) async throws {
        let played = try await play { tested.apply($0.source("a-(bc)-|")) }
        #expect(played.output == "a-(bc)-|")
        #expect(played.openings == ["0..<4"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `a failure passes behind the elements before it`(tested: Operator) async throws {
        let played = try await play { tested.apply($0.source("a-(b#)")) }
        #expect(played.output == "a-(b#)")
        #expect((played.error as? BLEError)?.code == .disconnected)
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `an upstream that fails with a cancellation error passes it`(tested: Operator) async throws {
        let played = try await play { tested.apply($0.source("a-!")) }
        #expect(played.output == "a-!")
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `cancelling a consumer that waits ends it at once and closes the upstream`(tested: Operator) async throws {
        let played = try await play(Consumer(isCancelledIn: 3)) { tested.apply($0.source("a-----b")) }
        #expect(played.output == "a--!")
        #expect(played.openings == ["0..<3"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `a consumer cancelled while busy gets no further element`(tested: Operator) async throws {
        let consumer = Consumer(isCancelledIn: 2, isBusyFor: 4)
        let played = try await play(consumer) { tested.apply($0.source("abc---|")) }
        #expect(played.output == "a---!")
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `leaving the loop closes the upstream at once`(tested: Operator) async throws {
        let played = try await play(Consumer(breaksAfter: 2)) { tested.apply($0.source("a-b-c-|")) }
        #expect(played.output == "a-b")
        #expect(played.openings == ["0..<2"])
        #expect(played.closings == [1])
    }

    @Test(arguments: all)
    func `iterating again starts afresh`(tested: Operator) async throws {
        let played = try await play(iterations: 2) { tested.apply($0.source("a-|", "b--c|")) }
        #expect(played.output == "b--c|")
        #expect(played.openings == ["0..<2", "2..<6"])
        #expect(played.closings == [1, 1])
    }

    @Test(arguments: all)
    func `nothing is opened before the first element is asked for`(tested: Operator) async throws {
        let played = try await play { stage in
            let stream = tested.apply(stage.source("a|"))
            _ = stream.makeAsyncIterator()
            return BLEStream<String>([], timeline: stage.time)
        }
        #expect(played.openings.isEmpty)
    }

    @Test(arguments: all)
    func `a gap passes unseen`(tested: Operator) async throws {
        let played = try await play { tested.apply($0.source("a~b|")) }
        #expect(played.output == "a-b|")
    }

    @Test(arguments: all.filter { $0.testDescription != "withGaps" })
    func `a gap is seen where it is asked for`(tested: Operator) async throws {
        let played = try await play { tested.apply($0.source("a~b|")).withGaps() }
        #expect(played.output == "a~b|")
    }

    @Test(arguments: operators + buffering + pairing)
    func `a stream that is stopped hands out what it has`(tested: Operator) async throws {
        // The signal and the last element come while the consumer is busy with the first one.
        let played = try await play(Consumer(isBusyFor: 4)) { stage in
            tested.apply(stage.source("abc---d-|")).take(until: stage.source("---s"))
        }
        #expect(played.output == "a---b---c---|")
        #expect(played.closings == [1, 1])
    }

    @Test(arguments: operators + opening)
    func `the counters are those of the source`(tested: Operator) async throws {
        let played = try await play(Consumer(breaksAfter: 2)) { tested.apply($0.source("(abcde)")) }
        #expect(played.counters.received == 5)
        #expect(played.counters.delivered + played.counters.dropped == 5)
        #expect(played.counters.delivered == 2)
    }
}
