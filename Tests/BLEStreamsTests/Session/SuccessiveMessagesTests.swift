import BLESimulator
import BLEStreams
import Testing

/// Consumers of a planned subscription that take one message after another, which the chunks don't end with.
@Suite(.timeLimit(.minutes(10))) struct SuccessiveMessagesTests {
    static let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)

    /// Sends chunks to a session with a plan, with a pause before each of the second and later bursts.
    static func run(
        bursts: [[String]],
        pause: Duration = .seconds(10),
        faults: Fault? = nil,
        _ body: @escaping @Sendable (Bench, Session) async throws -> Void
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                for (number, burst) in bursts.enumerated() {
                    if number > 0 { try await bench.time.sleep(for: pause) }
                    for chunk in burst {
                        try await server.notify(Array(chunk.utf8), of: Bench.notifying, to: change.central)
                    }
                }
            }
        }
        try await Bench.run(serve: serve) { bench in
            if let faults { bench.air.faults.add(faults) }
            try await bench.central.withSession(plan) { session in try await body(bench, session) }
        }
    }

    static func text(_ octets: [UInt8]) -> String { String(decoding: octets, as: UTF8.self) }

    static func lines(_ session: Session) -> BLEStream<String> {
        session.notifications(of: Bench.notifying).assembled(until: .delimiter("\n")).map(text)
    }

    /// Takes the next line, and gives it up after a time.
    private static func giveUp(_ session: Session, after time: Duration, in bench: Bench) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    _ = try await Self.lines(session).first()
                    Issue.record("a message came")
                } catch { #expect(error is CancellationError) }
            }
            try await bench.time.sleep(for: time)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func `several lines in one chunk come all, one at a time`() async throws {
        try await Self.run(bursts: [["one\ntwo\nthr", "ee\nfour\n", "five", "\n\nseven\n"]]) { _, session in
            for line in ["one", "two", "three", "four", "five", "", "seven"] {
                let taken = try await Self.lines(session).timeout(.seconds(60)).first()
                #expect(taken == line)
            }
        }
    }

    @Test func `lines that are taken some at a time behind a time limit come all`() async throws {
        try await Self.run(bursts: [["one\ntwo\nthr", "ee\nfour\nfi"], ["ve\nsix\n"]]) { _, session in
            let limited = session.notifications(of: Bench.notifying).timeout(.seconds(60))
            let lines = limited.assembled(until: .delimiter("\n")).map(Self.text)
            let first = try await lines.collect(3)
            #expect(first == ["one", "two", "three"])
            let second = try await lines.collect(3)
            #expect(second == ["four", "five", "six"])
        }
    }

    @Test func `messages behind their lengths come all, one at a time`() async throws {
        try await Self.run(bursts: [["\u{3}one\u{3}two\u{5}th", "ree\u{0}\u{4}fo"], ["ur"]]) { _, session in
            for message in ["one", "two", "three", "", "four"] {
                let next = session.notifications(of: Bench.notifying).assembled(until: .lengthPrefix(octets: 1))
                let taken = try await next.map(Self.text).timeout(.seconds(60)).first()
                #expect(taken == message)
            }
        }
    }

    @Test func `the octets of chunks come all, one at a time`() async throws {
        try await Self.run(bursts: [["abc", "d"], ["ef"]]) { _, session in
            for octet in "abcdef".utf8 {
                let next = session.notifications(of: Bench.notifying).bytes.timeout(.seconds(60))
                let taken = try await next.first()
                #expect(taken == octet)
            }
        }
    }

    @Test func `a consumer that is cancelled in the middle of a message leaves it to the next one`() async throws {
        try await Self.run(bursts: [["one\ntw"], ["o", "\nthree\n"]]) { bench, session in
            let first = try await Self.lines(session).first()
            #expect(first == "one")
            try await Self.giveUp(session, after: .seconds(3), in: bench)
            try await Self.giveUp(session, after: .seconds(3), in: bench)
            for line in ["two", "three"] {
                let taken = try await Self.lines(session).timeout(.seconds(60)).first()
                #expect(taken == line)
            }
        }
    }

    @Test func `the counts of consumers are right if a chunk is taken in two parts`() async throws {
        try await Self.run(bursts: [["one\ntw", "o\n"]]) { _, session in
            let chunks = [session.notifications(of: Bench.notifying), session.notifications(of: Bench.notifying)]
            let lines = chunks.map { $0.assembled(until: .delimiter("\n")).map(Self.text) }
            let first = try await lines[0].first()
            #expect(first == "one")
            let second = try await lines[1].timeout(.seconds(60)).first()
            #expect(second == "two")
            #expect(chunks.map(\.counters.received).reduce(0, +) == 2)
            for counters in chunks.map(\.counters) {
                #expect(counters.received == counters.delivered && counters.dropped == 0)
            }
        }
    }

    @Test func `a part that a time limit has handed out does not come again`() async throws {
        try await Self.run(bursts: [["half"], ["two\n"]]) { _, session in
            try await session.ready()
            let error = await bleError { _ = try await Self.lines(session).timeout(.seconds(5)).first() }
            #expect(error?.code == .timedOut && error?.received == Array("half".utf8))
            let taken = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(taken == "two")
        }
    }

    @Test func `a stream whose time is over leaves the message that is not complete to the next one`() async throws {
        try await Self.run(bursts: [["one\ntw"], ["o\nthree\n"]]) { _, session in
            let lines = try await Self.lines(session).prefix(for: .seconds(5)).collect()
            #expect(lines == ["one"])
            for line in ["two", "three"] {
                let taken = try await Self.lines(session).timeout(.seconds(60)).first()
                #expect(taken == line)
            }
        }
    }

    @Test func `a message that is too long fails once`() async throws {
        try await Self.run(bursts: [["much too long"], ["two\n"]]) { _, session in
            let lines = session.notifications(of: Bench.notifying).assembled(until: .delimiter("\n"), maximumSize: 5)
            let error = await bleError { _ = try await lines.first() }
            #expect(error?.code == .overflow)
            let taken = try await lines.map(Self.text).timeout(.seconds(60)).first()
            #expect(taken == "two")
        }
    }

    @Test func `a message with a hole from a time without a consumer is none behind retry`() async throws {
        let bursts = [["one\n"], ["two, ", "three, ", "four\n", "five\n"]]
        try await Self.run(bursts: bursts, faults: .overflow(.notifications).skipping(2).times(1)) { bench, session in
            try await session.ready()
            try await bench.time.sleep(for: .seconds(30))
            let lines = Self.lines(session).retry(.constant(.seconds(1))).timeout(.seconds(60))
            let taken = try await lines.collect(2)
            #expect(taken == ["one", "five"])
        }
    }

    @Test(arguments: [BufferPolicy.oldest(2), .fail(2)])
    func `a message with a hole from a consumer that was late is none, though it has left before it noticed`(
        buffer: BufferPolicy
    ) async throws {
        let bursts = [["one\n"], ["t", "w", "e", "n"], ["ty\nthree\n"]]
        try await Self.run(bursts: bursts) { bench, session in
            let chunks = session.notifications(of: Bench.notifying, buffer: buffer)
            for try await line in chunks.assembled(until: .delimiter("\n")).map(Self.text) {
                #expect(line == "one")
                // The second burst overruns the buffer meanwhile; the third one comes later.
                try await bench.time.sleep(for: .seconds(15))
                break
            }
            let error = await bleError { _ = try await Self.lines(session).timeout(.seconds(60)).first() }
            #expect(error?.code == .overflow && error?.received == Array("tw".utf8))
            #expect(error?.cause == "2 chunks were dropped" && chunks.counters.dropped == 2)
        }
    }

    @Test func `the part of a message that a lost link interrupts is dropped with it`() async throws {
        let drop = Fault.dropLink(after: 2, .notifications)
        try await Self.run(bursts: [["one\ntw", "never sent"]], faults: drop) { bench, session in
            let first = try await Self.lines(session).first()
            #expect(first == "one")
            try await Self.giveUp(session, after: .milliseconds(100), in: bench)
            let second = try await Self.lines(session).timeout(.seconds(60)).first()
            #expect(second == "one")
        }
    }

    @Test func `of a message of very many chunks that is given up, the next consumer is told what is missing`()
        async throws
    {
        let chunks = (0..<1500).map { _ in "x" }
        try await Self.run(bursts: [chunks, ["end\n", "two\n"]], pause: .seconds(600)) { bench, session in
            try await session.ready()
            try await Self.giveUp(session, after: .seconds(300), in: bench)
            let error = await bleError { _ = try await Self.lines(session).first() }
            #expect(error?.code == .overflow)
        }
    }
}
