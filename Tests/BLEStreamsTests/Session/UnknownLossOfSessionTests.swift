import BLESimulator
import BLEStreams
import Testing

/// Messages of a session with several subscriptions, of which the kernel drops PDUs that may be anybody's.
@Suite(.timeLimit(.minutes(10))) struct UnknownLossOfSessionTests {
    private static let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000)))
        .subscribing(to: Bench.notifying).subscribing(to: Bench.counter)

    /// Sends chunks, each of one of two characteristics, once a central has subscribed to both; drops one of them.
    private static func run(
        chunks: [(BluetoothUUID, String)],
        without dropped: Int,
        _ body: @escaping @Sendable (Bench, Session) async throws -> Void
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            var subscribed: Set<String> = []
            for try await change in server.subscriptions() where change.isSubscribed {
                subscribed.insert(change.characteristic)
                guard subscribed.count == 2 else { continue }
                try await bench.time.sleep(for: .seconds(1))
                for (characteristic, chunk) in chunks {
                    try await server.notify(Array(chunk.utf8), of: characteristic, to: change.central)
                }
            }
        }
        try await Bench.run(serve: serve) { bench in
            bench.air.faults.add(.overflow(.notifications).skipping(dropped).times(1))
            try await bench.central.withSession(plan) { session in try await body(bench, session) }
        }
    }

    private static func lines(_ session: Session) -> BLEStream<String> {
        session.notifications(of: Bench.notifying).assembled(until: .delimiter("\n"))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Behind `retry` with a consumer that was there, and with one that came later.
    @Test(arguments: [false, true]) func `a message that may have a hole is none, and the next one comes whole`(
        isLate: Bool
    ) async throws {
        let chunks = ["one\n", "two, ", "three, ", "four\n", "five\n"].map { (Bench.notifying, $0) }
        try await Self.run(chunks: chunks, without: 2) { bench, session in
            if isLate {
                try await session.ready()
                try await bench.time.sleep(for: .seconds(30))
            }
            let lines = Self.lines(session).retry(.constant(.seconds(1))).timeout(.seconds(60))
            #expect(try await lines.collect(2) == ["one", "five"])
        }
    }

    @Test func `who comes later is told what may be missing before the first chunk`() async throws {
        let chunks = ["one", "two\n"].map { (Bench.notifying, $0) }
        try await Self.run(chunks: chunks, without: 0) { bench, session in
            try await session.ready()
            try await bench.time.sleep(for: .seconds(30))
            let error = await bleError { _ = try await Self.lines(session).first() }
            #expect(error?.code == .overflow && error?.cause.contains("another subscription") == true)
        }
    }

    @Test func `values go on without a gap, and count nothing as dropped`() async throws {
        let chunks = [(Bench.notifying, "a"), (Bench.counter, "b"), (Bench.notifying, "c"), (Bench.counter, "d")]
        try await Self.run(chunks: chunks, without: 1) { _, session in
            let values = session.values
            let items = try await values.withGaps().timeout(.seconds(60)).collect(3)
            #expect(items.map { $0.value.map { String(decoding: $0.value, as: UTF8.self) } } == ["a", "c", "d"])
            #expect(values.counters.received == 3 && values.counters.dropped == 0)
        }
    }

    /// What nobody can attribute is in front of the other subscription's value, where the consumer of both has left.
    @Test func `what a consumer of all values leaves has the loss in each subscription`() async throws {
        let chunks = [
            (Bench.notifying, "one\n"), (Bench.notifying, "tw"), (Bench.notifying, "lost"), (Bench.counter, "x"),
            (Bench.notifying, "o\n"),
        ]
        try await Self.run(chunks: chunks, without: 2) { bench, session in
            for try await item in session.values {
                #expect(String(decoding: item.value, as: UTF8.self) == "one\n")
                try await bench.time.sleep(for: .seconds(30))
                break
            }
            let error = await bleError { _ = try await Self.lines(session).timeout(.seconds(60)).first() }
            #expect(error?.code == .overflow && error?.received == Array("tw".utf8))
        }
    }
}
