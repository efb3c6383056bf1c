import BLESimulator
import BLEStreams
import Testing

/// Messages of a planned subscription, of which `retry` gives one up in the middle while the subscription goes on.
extension SuccessiveMessagesTests {
    /// What stands between the messages and `retry`.
    enum Chain: CaseIterable {
        case nothing
        case merged
        case shared
        case sharedBefore
        case sharedAndMerged
        case buffered
        case bufferedBefore
        case retriedAlready
        case behindOnEach
        case mergedBehindOnEach

        func apply(_ session: Session) -> BLEStream<String> {
            let lines = SuccessiveMessagesTests.lines(session).timeout(.seconds(5))
            switch self {
            case .nothing: return lines
            case .merged: return lines.merge(with: BLEStream<String> { _ in {} })
            case .shared: return lines.share()
            case .sharedBefore: return SuccessiveMessagesTests.lines(session).share().timeout(.seconds(5))
            case .sharedAndMerged: return lines.share().merge(with: BLEStream<String> { _ in {} })
            case .buffered: return lines.buffered(.unbounded)
            case .bufferedBefore: return Self.behindBuffer(session)
            case .retriedAlready: return lines.retry(.immediate(attempts: 1))
            case .behindOnEach: return Self.behindOnEach(session)
            case .mergedBehindOnEach:
                return Self.behindOnEach(session).merge(with: BLEStream<String> { _ in {} })
            }
        }

        private static func behindBuffer(_ session: Session) -> BLEStream<String> {
            session.notifications(of: Bench.notifying).buffered(.unbounded).assembled(until: .delimiter("\n"))
                .map(SuccessiveMessagesTests.text).timeout(.seconds(5))
        }

        private static func behindOnEach(_ session: Session) -> BLEStream<String> {
            session.notifications(of: Bench.notifying).onEach { _ in }.assembled(until: .delimiter("\n"))
                .map(SuccessiveMessagesTests.text).timeout(.seconds(5))
        }
    }

    @Test(arguments: Chain.allCases)
    func `of a message that a time limit interrupts, the rest is no message behind retry`(chain: Chain) async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { _, session in
            let lines = try await chain.apply(session).retry(.constant(.seconds(1))).collect(2)
            #expect(lines == ["one", "two"])
        }
    }

    @Test(
        arguments: [
            (EndMark.endOfMessage("EOM"), [["one", "EOM", "ha", "EO"], ["M", "lf", "EOM", "two", "EOM"]]),
            (.endOfMessage(atEndOfChunk: "EOM"), [["oneEOM", "ha", "lfE"], ["OM", "twoEOM"]]),
            (.endOfMessage(atEndOfChunk: "EOM"), [["oneEOM", "ha"], ["l", "fEO", "M", "twoEOM"]]),
            (.endOfMessage(atEndOfChunk: "EOM"), [["oneEOM", "ha", "E", "O"], ["M", "twoEOM"]]),
            (.endOfMessage(atEndOfChunk: "EOM"), [["oneEOM", "ha"], ["lf", "E", "O"], ["M", "twoEOM"]]),
            (.delimiter("\r\n"), [["one\r\nhalf\r"], ["\ntwo\r", "\n"]]),
            (.delimiter("\r\n"), [["one\r\nha"], ["l", "f\r", "\ntw", "o\r\n"]]),
        ] as [(EndMark, [[String]])]
    )
    func `the end of the message is found however it is marked and cut`(mark: EndMark, bursts: [[String]])
        async throws
    {
        try await Self.run(bursts: bursts) { _, session in
            let messages = session.notifications(of: Bench.notifying).assembled(until: mark).map(Self.text)
            let taken = try await messages.timeout(.seconds(5)).retry(.constant(.seconds(1))).collect(2)
            #expect(taken == ["one", "two"])
        }
    }

    @Test(arguments: [
        [["one\nmuch too lo"], ["ng\ntwo\n"]],
        [["one\nmuch too lo"], ["ng"], [", really\ntwo\n"]],
        [["one\nmuch too long\ntwo\n"]],
    ])
    func `of a message that is too long, the rest is no message behind retry`(bursts: [[String]]) async throws {
        try await Self.run(bursts: bursts) { _, session in
            let lines = session.notifications(of: Bench.notifying).assembled(until: .delimiter("\n"), maximumSize: 5)
            let taken = try await lines.map(Self.text).retry(.constant(.seconds(1))).collect(2)
            #expect(taken == ["one", "two"])
        }
    }

    @Test(arguments: [BufferPolicy.oldest(2), .fail(2)])
    func `of a message with a hole, the rest is no message behind retry`(buffer: BufferPolicy) async throws {
        let bursts = [["one\n"], ["t", "w", "e", "n"], ["ty\nthree\n"]]
        try await Self.run(bursts: bursts) { bench, session in
            let chunks = session.notifications(of: Bench.notifying, buffer: buffer)
            let lines = chunks.assembled(until: .delimiter("\n")).map(Self.text).retry(.constant(.seconds(1)))
            var taken: [String] = []
            for try await line in lines.prefix(2) {
                taken.append(line)
                // The second burst overruns the buffer meanwhile; the third one comes later.
                if line == "one" { try await bench.time.sleep(for: .seconds(15)) }
            }
            #expect(taken == ["one", "three"])
        }
    }

    @Test func `of a message that is dropped in a buffer, the rest is no message behind retry`() async throws {
        let bursts = [["zero\n"], ["one\n", "tw"], ["o\nthree\n"]]
        try await Self.run(bursts: bursts) { bench, session in
            let chunks = session.notifications(of: Bench.notifying).buffered(.unbounded)
            let lines = chunks.assembled(until: .delimiter("\n")).map(Self.text)
                .onEach { line in if line == "one" { throw Stage.failure } }
            var taken: [String] = []
            for try await line in lines.retry(.constant(.seconds(1))).prefix(2) {
                taken.append(line)
                // The second burst comes meanwhile; the third one comes later.
                if line == "zero" { try await bench.time.sleep(for: .seconds(15)) }
            }
            #expect(taken == ["zero", "three"])
        }
    }

    @Test func `each of several consumers of one stream gets whole messages`() async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { _, session in
            let lines = Self.lines(session).timeout(.seconds(5)).retry(.constant(.seconds(1)))
            try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<3 { group.addTask { try await lines.collect(2) } }
                for try await taken in group { #expect(taken == ["one", "two"]) }
            }
        }
    }

    /// In a pause of `retry`, and when it has begun again.
    @Test(arguments: [4, 7])
    func `who is cancelled behind retry leaves no rest of a message to the next consumer`(second: Int) async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let lines = Self.lines(session).timeout(.seconds(2)).retry(.constant(.seconds(4)))
                    await #expect(throws: CancellationError.self) { _ = try await lines.collect(2) }
                }
                try await bench.time.sleep(for: .seconds(second))
                group.cancelAll()
                try await group.waitForAll()
            }
            let taken = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(taken == "two")
        }
    }

    /// Who takes the chunks as they come, in between.
    enum Between: CaseIterable {
        case oneAfterTheOther
        case limited
        case oneByOne
        case all

        func wait(_ session: Session) async throws {
            let chunks = session.notifications(of: Bench.notifying)
            let limit = Duration.seconds(3)
            switch self {
            case .oneAfterTheOther:
                for _ in 0..<2 { _ = try await chunks.prefix(for: limit / 2).collect() }
            case .limited: _ = try? await chunks.timeout(limit).collect()
            case .oneByOne: _ = try? await chunks.bytes.timeout(limit).first()
            case .all: _ = try await session.values.prefix(for: limit).collect()
            }
        }
    }

    /// Loops over messages for so long that a part is given up, and ends before retry begins anew.
    private static func giveUpPart(of session: Session, for duration: Duration, _ bench: Bench) async throws {
        let lines = lines(session).timeout(.seconds(2)).retry(.constant(.seconds(60)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await #expect(throws: CancellationError.self) { _ = try await lines.collect(2) } }
            try await bench.time.sleep(for: duration)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test(arguments: Between.allCases)
    func `who takes no chunk behind a part leaves no rest of a message to the next consumer`(between: Between)
        async throws
    {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            try await Self.giveUpPart(of: session, for: .seconds(3), bench)
            try await between.wait(session)
            let taken = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(taken == "two")
        }
    }

    @Test func `who takes the octets up to the end of a message that was given up leaves the next message`()
        async throws
    {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            try await Self.giveUpPart(of: session, for: .seconds(3), bench)
            let rest = try await session.notifications(of: Bench.notifying).bytes.timeout(.seconds(60)).collect(2)
            #expect(rest == Array("f\n".utf8))
            let taken = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(taken == "two")
        }
    }

    /// The link is lost while the other one waits: a gap is all that it takes, or it takes that neither.
    @Test(arguments: [8, 11])
    func `who takes no chunk behind a part leaves the first message of the next link whole`(second: Int) async throws {
        let (bursts, drop) = ([[], ["one\ntw"]] as [[String]], Fault.dropLink(after: .seconds(9)))
        try await Self.run(bursts: bursts, pause: .seconds(4), faults: drop) { bench, session in
            try await session.ready()
            let start = bench.time.now
            try await Self.giveUpPart(of: session, for: .seconds(7), bench)
            let chunks = session.notifications(of: Bench.notifying)
            try await chunks.prefix(for: .seconds(second) - bench.time.now + start).receive { _ in }
            let taken = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(taken == "one")
        }
    }

    @Test func `when the attempts are used up, the error has the part, and the next stream begins behind it`()
        async throws
    {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { _, session in
            try await session.ready()
            let lines = Self.lines(session).timeout(.seconds(5)).retry(.constant(.seconds(1), attempts: 0))
            let error = await bleError { _ = try await lines.collect(2) }
            #expect(error?.code == .timedOut && error?.received == Array("hal".utf8))
            let taken = try await Self.lines(session).timeout(.seconds(60)).collect(2)
            #expect(taken == ["f", "two"])
        }
    }

    /// The link is lost before the message is given up, in the pause behind that, and when it has begun again.
    @Test(arguments: [3, 6, 9])
    func `the first message of a new link is whole, and comes`(second: Int) async throws {
        let drop = Fault.dropLink(after: .seconds(second))
        try await Self.run(bursts: [["one\ntw"]], faults: drop) { _, session in
            let lines = Self.lines(session).timeout(.seconds(5)).retry(.constant(.seconds(2)))
            let taken = try await lines.collect(2)
            #expect(taken == ["one", "one"])
        }
    }

    @Test func `behind a length the rest is an error that tries can't cure, and the next link begins anew`()
        async throws
    {
        try await Self.run(bursts: [["\u{3}one\u{4}ha"], ["lf\u{3}two"]]) { _, session in
            let messages = session.notifications(of: Bench.notifying).assembled(until: .lengthPrefix(octets: 1))
            let retried = messages.map(Self.text).timeout(.seconds(5)).retry(.constant(.seconds(1)))
            var taken: [String] = []
            do {
                for try await message in retried { taken.append(message) }
                Issue.record("it ends without an error")
            } catch let error as BLEError {
                #expect(error.code == .ended && error.isFinal && error.remedy.contains("disconnect()"))
            }
            #expect(taken == ["one"])
            await session.disconnect()
            try session.connect()
            let next = try await retried.first()
            #expect(next == "one")
        }
    }
}
