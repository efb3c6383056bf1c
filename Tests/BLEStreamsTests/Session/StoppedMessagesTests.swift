import BLESimulator
import BLEStreams
import Testing

/// Messages of a planned subscription that the failure of another stream stops in the middle, and that `retry` gives up
/// with it.
extension SuccessiveMessagesTests {
    /// How the messages and the failing stream come together.
    enum Meeting: CaseIterable {
        case merged
        case mergedTwice
        case inner
        case upstreamOfInner
        case shared

        func meet(_ lines: BLEStream<String>, _ failing: BLEStream<String>, _ bench: Bench) -> BLEStream<String> {
            switch self {
            case .merged: return lines.merge(with: failing)
            case .mergedTwice: return lines.merge(with: BLEStream<String> { _ in {} }).merge(with: failing)
            case .inner:
                return BLEStream([true, false], timeline: bench.time).flatMap(merging: 2) { $0 ? lines : failing }
            case .upstreamOfInner:
                return lines.flatMap { BLEStream([$0], timeline: bench.time) }.merge(with: failing)
            case .shared: return lines.share().merge(with: failing)
            }
        }
    }

    /// Lines whose rest the subscription doesn't keep for the next stream.
    private static func unkeptLines(_ session: Session) -> BLEStream<String> {
        session.notifications(of: Bench.notifying).onEach { _ in }.assembled(until: .delimiter("\n")).map(text)
    }

    /// Fails so many seconds after it has begun, but only once.
    private static func failingOnce(
        after seconds: Int,
        _ bench: Bench,
        with error: any Error = Stage.failure
    ) -> BLEStream<String> {
        let hasFailed = Flag()
        return BLEStream.interval(.seconds(seconds), timeline: bench.time).compactMap { _ -> String? in
            guard !hasFailed.isSet else { return nil }
            hasFailed.set()
            throw error
        }
    }

    @Test(arguments: Meeting.allCases)
    func `of a message that another stream's failure interrupts, the rest is no message behind retry`(
        meeting: Meeting
    ) async throws {
        try await Self.run(bursts: [["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            let both = meeting.meet(Self.unkeptLines(session), Self.failingOnce(after: 5, bench), bench)
            let taken = try await both.retry(.constant(.seconds(1))).timeout(.seconds(60)).collect(2)
            #expect(taken == ["one", "two"])
        }
    }

    @Test(arguments: Meeting.allCases)
    func `beside others, too, the rest is no message behind retry`(meeting: Meeting) async throws {
        try await Self.run(bursts: [[], ["one\nhal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            try await withThrowingTaskGroup(of: [String].self) { group in
                group.addTask { try await Self.lines(session).collect(3) }
                let both = meeting.meet(Self.lines(session), Self.failingOnce(after: 15, bench), bench)
                let taken = try await both.retry(.constant(.seconds(1))).timeout(.seconds(60)).collect(2)
                #expect(taken == ["one", "two"])
                let whole = try await group.next()
                #expect(whole == ["one", "half", "two"])
            }
        }
    }

    @Test func `the rest of a message that is stopped is no signal behind retry`() async throws {
        try await Self.run(bursts: [["hal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            let rest = Self.unkeptLines(session).filter { $0 == "f" }
            let ticks = BLEStream.interval(.seconds(1), timeline: bench.time).map { "\($0)" }.take(until: rest)
            let both = ticks.merge(with: Self.failingOnce(after: 5, bench)).retry(.constant(.seconds(1)))
            // The rest comes in the tenth second.
            let taken = try await both.timeout(.seconds(5)).collect(15)
            #expect(taken.suffix(5) == ["6", "7", "8", "9", "10"] || taken.suffix(5) == ["5", "6", "7", "8", "9"])
        }
    }
}

// MARK: - Errors without a part

/// What fails here fails with an error of the program, which has no part of a message.
extension SuccessiveMessagesTests {
    private struct OwnError: Error {}

    /// Where the program's error comes from.
    enum Origin: CaseIterable {
        /// An operator in front of the messages.
        case chunk
        /// An operator behind them.
        case message
        /// The stream that is to end them.
        case signal

        var bursts: [[String]] {
            switch self {
            case .chunk: [["one\nha", "l!", "f\ntwo\n"]]
            case .message: [["one\nbad\nhal"], ["f\ntwo\n"]]
            case .signal: [["one\nhal"], ["f\ntwo\n"]]
            }
        }

        func failing(_ session: Session, _ bench: Bench) -> BLEStream<String> {
            switch self {
            case .chunk:
                let chunks = session.notifications(of: Bench.notifying).onEach { chunk in
                    guard !chunk.elementsEqual("l!".utf8) else { throw OwnError() }
                }
                return chunks.assembled(until: .delimiter("\n")).map(SuccessiveMessagesTests.text)
            case .message: return SuccessiveMessagesTests.refusingOne(SuccessiveMessagesTests.unkeptLines(session))
            case .signal:
                let signal = SuccessiveMessagesTests.failingOnce(after: 5, bench, with: OwnError())
                return SuccessiveMessagesTests.unkeptLines(session).take(until: signal)
            }
        }
    }

    private static func refusingOne(_ lines: BLEStream<String>) -> BLEStream<String> {
        lines.onEach { line in
            guard line != "bad" else { throw OwnError() }
        }
    }

    @Test(arguments: Origin.allCases)
    func `of a message that the program's own error interrupts, the rest is no message behind retry`(
        origin: Origin
    ) async throws {
        try await Self.run(bursts: origin.bursts) { bench, session in
            try await session.ready()
            let lines = origin.failing(session, bench).retry(.constant(.seconds(1))).timeout(.seconds(60))
            let taken = try await lines.collect(2)
            #expect(taken == ["one", "two"])
        }
    }

    @Test(arguments: [
        (EndMark.delimiter("\n"), [["one\nbad\nthree\nhal"], ["f\ntwo\n"]]),
        (EndMark.lengthPrefix(octets: 1), [["\u{3}one\u{3}bad\u{5}three"], ["\u{3}two"]]),
    ])
    func `where complete messages are lost with the program's own error, the next one is a whole one behind retry`(
        mark: EndMark,
        bursts: [[String]]
    ) async throws {
        try await Self.run(bursts: bursts) { _, session in
            try await session.ready()
            let chunks = session.notifications(of: Bench.notifying).onEach { _ in }
            let lines = Self.refusingOne(chunks.assembled(until: mark).map(Self.text))
            let taken = try await lines.retry(.constant(.seconds(1))).timeout(.seconds(60)).collect(2)
            #expect(taken == ["one", "two"])
        }
    }

    @Test func `of what comes in one chunk with the end of a message that is too long, the rest is no message`()
        async throws
    {
        try await Self.run(bursts: [["much too long\nthree\nhal"], ["f\ntwo\n"]]) { _, session in
            try await session.ready()
            let chunks = session.notifications(of: Bench.notifying).onEach { _ in }
            let lines = chunks.assembled(until: .delimiter("\n"), maximumSize: 5).map(Self.text)
            let taken = try await lines.retry(.constant(.seconds(1))).timeout(.seconds(60)).first()
            #expect(taken == "two")
        }
    }

    @Test func `beside others, too, the program's own error leaves no rest behind retry`() async throws {
        try await Self.run(bursts: [[], ["one\nbad\nhal"], ["f\ntwo\n"]]) { _, session in
            try await session.ready()
            try await withThrowingTaskGroup(of: [String].self) { group in
                group.addTask { try await Self.lines(session).collect(4) }
                let lines = Self.refusingOne(Self.lines(session)).retry(.constant(.seconds(1)))
                let taken = try await lines.timeout(.seconds(60)).collect(2)
                #expect(taken == ["one", "two"])
                let whole = try await group.next()
                #expect(whole == ["one", "bad", "half", "two"])
            }
        }
    }

    @Test func `the rest of a message is no signal for what the program's own error has ended`() async throws {
        try await Self.run(bursts: [["hal"], ["f\ntwo\n"]]) { bench, session in
            try await session.ready()
            let rest = Self.unkeptLines(session).filter { $0 == "f" }
            let ticks = BLEStream.interval(.seconds(1), timeline: bench.time).map { "\($0)" }
            let failing = ticks.merge(with: Self.failingOnce(after: 5, bench, with: OwnError()))
            let both = failing.take(until: rest).retry(.constant(.seconds(1)))
            // The rest comes in the tenth second.
            let taken = try await both.timeout(.seconds(5)).collect(15)
            #expect(taken.count == 15)
        }
    }
}
