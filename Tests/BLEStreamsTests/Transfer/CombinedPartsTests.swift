import BLEProtocol
import BLESimulator
import Testing

@testable import BLEStreams

/// The parts of messages of several streams that are read together, in the error of one of them or of all.
@Suite(.timeLimit(.minutes(10))) struct CombinedPartsTests {
    enum Combination: CaseIterable {
        case merge
        case flatMap
        case zip
        case combineLatest

        /// Reads the messages of two sources together.
        func messages(_ stage: Stage, _ left: String, _ right: String) -> BLEStream<String> {
            let left = CombinedPartsTests.messages("left", of: stage.source(left))
            let right = CombinedPartsTests.messages("right", of: stage.source(right))
            return switch self {
            case .merge: left.merge(with: right)
            case .flatMap: stage.source("(lr)").flatMap(merging: 3) { $0 == "l" ? left : right }
            case .zip: left.zip(with: right).map { $0 + $1 }
            case .combineLatest: left.combineLatest(with: right).map { $0 + $1 }
            }
        }

        /// Reads one stream twice together.
        func twice(_ stream: BLEStream<String>, _ stage: Stage) -> BLEStream<String> {
            switch self {
            case .merge: stream.merge(with: stream)
            case .flatMap: stage.source("(lr)").flatMap(merging: 3) { _ in stream }
            case .zip: stream.zip(with: stream).map { $0 + $1 }
            case .combineLatest: stream.combineLatest(with: stream).map { $0 + $1 }
            }
        }
    }

    private static func messages(_ name: String, of source: BLEStream<String>) -> BLEStream<String> {
        let chunks = source.map { Array($0.utf8) }
        let named = BLEStream<[UInt8]>(
            StreamSubject(operation: "notifications", object: "of \(name)"),
            timeline: chunks.timeline,
            counting: chunks.counting,
            open: chunks.open
        )
        return named.assembled(until: .delimiter(";")).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func part(_ name: String, _ text: String) -> BLEError.ReceivedPart {
        BLEError.ReceivedPart(operation: "notifications", object: "of \(name)", octets: Array(text.utf8))
    }

    /// The other stream fails with a part of its own, or only has one.
    @Test(arguments: Combination.allCases, ["d-#", "d----"])
    func `when one fails, the error has the part of each`(combination: Combination, other: String) async throws {
        let played = try await play { combination.messages($0, "b-#", other) }
        #expect(played.output == "--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.receivedParts.count == 2, "\(error)")
        #expect(Set(error.receivedParts) == [Self.part("left", "b"), Self.part("right", "d")])
        #expect(error.received == Array("b".utf8) || other == "d-#")
        #expect(played.closings.allSatisfy { $0 == 1 })
    }

    @Test(arguments: Combination.allCases)
    func `an error without a part of its own says which stream has one`(combination: Combination) async throws {
        let played = try await play { combination.messages($0, "--#", "d----") }
        let error = try #require(played.error as? BLEError)
        #expect(error.received == nil && error.receivedParts == [Self.part("right", "d")])
        #expect("\(error)".contains("octets had been received: 1 from notifications of right"))
    }

    @Test(arguments: Combination.allCases)
    func `a time limit behind them has the part of each`(combination: Combination) async throws {
        let played = try await play { combination.messages($0, "b----", "d----").timeout(.seconds(3)) }
        #expect(played.output == "---#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .timedOut && error.received == nil && error.receivedParts.count == 2, "\(error)")
        #expect(Set(error.receivedParts) == [Self.part("left", "b"), Self.part("right", "d")])
        for name in ["left", "right"] { #expect("\(error)".contains("1 from notifications of \(name)")) }
    }

    @Test(arguments: Combination.allCases)
    func `of several, one that has nothing has no part`(combination: Combination) async throws {
        let played = try await play { combination.messages($0, "b----", "-----").timeout(.seconds(3)) }
        let error = try #require(played.error as? BLEError)
        #expect(error.received == Array("b".utf8) && error.receivedParts == [Self.part("left", "b")])
    }

    @Test(arguments: [Combination.merge, .flatMap])
    func `what a stream has left at its own end is no part`(combination: Combination) async throws {
        let played = try await play { stage in
            let first = Self.messages("left", of: stage.source("[a;b]----")).prefix(1)
            let failing = stage.source("---#")
            return combination == .merge
                ? first.merge(with: failing)
                : stage.source("(lr)").flatMap(merging: 3) { $0 == "l" ? first : failing }
        }
        #expect(played.output == "a--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.receivedParts.isEmpty, "\(error)")
    }

    @Test func `an error of one consumer of a shared stream has no part that others get with the whole message`()
        async throws
    {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            let shared = Self.messages("left", of: stage.source("b---[c;]|")).share()
            async let whole = shared.collect()
            let failing = shared.merge(with: stage.source("--#"))
            let error = await bleError { _ = try await failing.collect() }
            let messages = try await whole
            #expect(messages == ["bc"])
            #expect(error?.operation == "play" && error?.receivedParts.isEmpty == true)
        }
    }

    @Test func `an error of the only consumer of a shared stream has the part that it has of a message`() async throws {
        let played = try await play { stage in
            Self.messages("left", of: stage.source("[a;b]----")).share().merge(with: stage.source("--#"))
        }
        #expect(played.output == "a-#")
        let error = try #require(played.error as? BLEError)
        #expect(error.receivedParts == [Self.part("left", "b")], "\(error)")
        #expect(played.closings.allSatisfy { $0 == 1 })
    }

    @Test func `a time limit that passes before an error is thrown hands out the parts of that too`() async throws {
        // The error is known when "f" comes, and would come behind it.
        let played = try await play(Consumer(isBusyFor: 3)) { stage in
            Combination.merge.messages(stage, "b-#", "[d;e;f;g]----").timeout(.seconds(8), for: .wholeStream)
        }
        #expect(played.output == "d--e--f--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .timedOut)
        #expect(Set(error.receivedParts) == [Self.part("left", "b"), Self.part("right", "g")], "\(error)")
    }

    @Test func `a time limit that passes before the error of a shared stream is thrown has the part of that`()
        async throws
    {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            let shared = Self.messages("left", of: stage.source("-[a;]b#")).share()
            async let inTime = bleError { _ = try await shared.collect() }
            // It is busy when the stream fails, and its limit has passed when it isn't any more.
            let late = await bleError {
                for try await _ in shared.timeout(.seconds(4), for: .wholeStream) { await stage.work(for: 6) }
            }
            let other = await inTime
            #expect(other?.code == .disconnected && other?.received == Array("b".utf8))
            #expect(late?.code == .timedOut && late?.received == Array("b".utf8))
            #expect(late?.receivedParts == [Self.part("left", "b")])
        }
    }

    @Test func `the error of another stream has the part of a shared one that has failed, though others get it, too`()
        async throws
    {
        try await VirtualTime.run { time in
            let stage = Stage(time)
            let shared = Self.messages("left", of: stage.source("-[a;]b#")).share()
            async let inTime = bleError { _ = try await shared.collect() }
            async let late = bleError { for try await _ in shared { await stage.work(for: 9) } }
            // It has "a", and waits for the other stream while the shared one fails.
            let error = await bleError { _ = try await shared.zip(with: stage.source("----#")).collect() }
            #expect(error?.operation == "play" && error?.receivedParts == [Self.part("left", "b")])
            let others = await [inTime, late]
            #expect(others.allSatisfy { $0?.receivedParts == [Self.part("left", "b")] })
        }
    }

    @Test func `the signal that ends a stream has a part of its own beside that of the stream`() async throws {
        let played = try await play { stage in
            Self.messages("left", of: stage.source("b----"))
                .take(until: Self.messages("right", of: stage.source("d-#")))
        }
        #expect(played.output == "--#")
        let error = try #require(played.error as? BLEError)
        #expect(error.received == Array("d".utf8))
        #expect(error.receivedParts == [Self.part("right", "d"), Self.part("left", "b")])
    }

    @Test(arguments: ["b-#", "--#"])
    func `the error of a stream has the part of the signal that would have ended it`(own: String) async throws {
        let played = try await play { stage in
            Self.messages("left", of: stage.source(own))
                .take(until: Self.messages("right", of: stage.source("d----")))
        }
        #expect(played.output == "--#")
        let error = try #require(played.error as? BLEError)
        let hasOwn = own == "b-#"
        #expect(error.received == (hasOwn ? Array("b".utf8) : nil))
        #expect(error.receivedParts == (hasOwn ? [Self.part("left", "b")] : []) + [Self.part("right", "d")])
        #expect(played.closings.allSatisfy { $0 == 1 })
    }

    @Test(arguments: [true, false])
    func `the part of the signal is in an error behind both, and of a stream beside both`(isLimit: Bool) async throws {
        let played = try await play { stage in
            let both = Self.messages("left", of: stage.source("b------"))
                .take(until: Self.messages("right", of: stage.source("d------")))
            return isLimit ? both.timeout(.seconds(3)) : both.merge(with: stage.source("---#"))
        }
        #expect(played.output == "---#")
        let error = try #require(played.error as? BLEError)
        #expect(error.receivedParts.count == 2, "\(error)")
        #expect(Set(error.receivedParts) == [Self.part("left", "b"), Self.part("right", "d")])
    }

    @Test(arguments: Combination.allCases)
    func `a part of a shared stream that comes on two ways is told once`(combination: Combination) async throws {
        let played = try await play { stage in
            combination.twice(Self.messages("left", of: stage.source("b----")).share(), stage).timeout(.seconds(3))
        }
        let error = try #require(played.error as? BLEError)
        #expect(error.code == .timedOut && error.received == Array("b".utf8))
        #expect(error.receivedParts == [Self.part("left", "b")], "\(error)")
    }

    @Test(arguments: Combination.allCases)
    func `an error of a shared stream that comes on two ways has its part once`(combination: Combination) async throws {
        let played = try await play { stage in
            combination.twice(Self.messages("left", of: stage.source("b-#")).share(), stage)
        }
        let error = try #require(played.error as? BLEError)
        #expect(error.received == Array("b".utf8))
        #expect(error.receivedParts == [Self.part("left", "b")], "\(error)")
    }

    @Test func `parts of two streams with the same name and content are told both`() async throws {
        let played = try await play { stage in
            Self.messages("left", of: stage.source("b----")).share()
                .merge(with: Self.messages("left", of: stage.source("b----")).share()).timeout(.seconds(3))
        }
        let error = try #require(played.error as? BLEError)
        #expect(error.receivedParts == [Self.part("left", "b"), Self.part("left", "b")])
    }

    @Test func `the part of one stream has its name too`() async throws {
        let failed = try await play { Self.messages("left", of: $0.source("b#")) }
        #expect((failed.error as? BLEError)?.receivedParts == [Self.part("left", "b")])
        let tooLong = try await play { stage in
            stage.source("[abc]").map { Array($0.utf8) }.assembled(until: .delimiter(";"), maximumSize: 2)
        }
        #expect((tooLong.error as? BLEError)?.receivedParts.map(\.octets) == [Array("abc".utf8)])
    }
}
