import BLESimulator
import BLEStreams
import Testing

/// Consumers of planned subscriptions that take one value at a time, and a session that fails in between: a device that
/// sends and leaves, and a plan that doesn't reconnect.
@Suite(.timeLimit(.minutes(10))) struct ValuesBeforeFailureTests {
    private static func run(
        _ subscriptions: BluetoothUUID...,
        dropping: Int,
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void,
        _ body: @escaping @Sendable (Bench, Session) async throws -> Void
    ) async throws {
        try await Bench.run(serve: serve) { bench in
            bench.air.faults.add(.dropLink(after: dropping, .notifications))
            var plan = subscriptions.reduce(Session.Plan(bench.peripheral)) { $0.subscribing(to: $1) }
            plan.reconnecting = nil
            try await bench.central.withSession(plan) { session in try await body(bench, session) }
        }
    }

    @Test(arguments: [Duration.zero, .seconds(5)])
    func `values that are taken one at a time come all, and then the error`(pause: Duration) async throws {
        try await Self.run(Bench.notifying, dropping: 10, serve: Bench.sendNumbers(30)) { bench, session in
            var numbers: [UInt32] = []
            let error = await bleError {
                while true {
                    numbers.append(UInt32(octets: try await session.notifications(of: Bench.notifying).first()))
                    try await bench.time.sleep(for: pause)
                }
            }
            #expect(error?.code == .disconnected && session.state.kind == .failed)
            #expect(numbers == Array(0..<10))
            // It is final for whoever comes later.
            let later = await bleError { _ = try await session.notifications(of: Bench.notifying).first() }
            #expect(later?.code == .disconnected)
        }
    }

    @Test func `what a consumer has before it as the session fails, and leaves, is the next one's`() async throws {
        try await Self.run(Bench.notifying, dropping: 10, serve: Bench.sendNumbers(30)) { bench, session in
            var numbers: [UInt32] = []
            for try await value in session.notifications(of: Bench.notifying) {
                numbers.append(UInt32(octets: value))
                // Behind the failure.
                try await bench.time.sleep(for: .seconds(10))
                break
            }
            #expect(session.state.kind == .failed)
            let error = await bleError {
                for try await value in session.notifications(of: Bench.notifying) {
                    numbers.append(UInt32(octets: value))
                }
            }
            #expect(error?.code == .disconnected)
            #expect(numbers == Array(0..<10))
        }
    }

    @Test func `values of the plan that are taken one at a time come all, of each subscription`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.counter) where change.isSubscribed {
                for number in 0..<5 as Range<UInt32> {
                    for uuid in [Bench.notifying, Bench.counter] {
                        try await server.notify(number.octets, of: uuid, to: change.central)
                    }
                }
            }
        }
        try await Self.run(Bench.notifying, Bench.counter, dropping: 10, serve: serve) { _, session in
            _ = try await session.states.first { $0.state.kind == .failed }
            var values: [String] = []
            let error = await bleError {
                while true {
                    let item = try await session.values.first()
                    values.append("\(item.subscription) \(UInt32(octets: item.value))")
                }
            }
            #expect(error?.code == .disconnected)
            #expect(values == ["A003", "A007"].flatMap { uuid in (0..<5).map { "\(uuid) \($0)" } })
        }
    }

    @Test func `lines of one chunk that are taken one at a time come all, and the error has what is not whole`()
        async throws
    {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try await server.notify(Array("one\ntwo\nthree\nfo".utf8), of: Bench.notifying, to: change.central)
            }
        }
        try await Self.run(Bench.notifying, dropping: 1, serve: serve) { _, session in
            _ = try await session.states.first { $0.state.kind == .failed }
            var lines: [String] = []
            let error = await bleError {
                while true { lines.append(try await SuccessiveMessagesTests.lines(session).first()) }
            }
            #expect(lines == ["one", "two", "three"])
            #expect(error?.code == .disconnected && error?.received == Array("fo".utf8))
            // What an error has handed out does not come again.
            let later = await bleError { _ = try await SuccessiveMessagesTests.lines(session).first() }
            #expect(later?.code == .disconnected && later?.received == nil)
        }
    }

    @Test func `what follows a message that was given up comes too, behind retry`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                for chunk in ["one\n", "far too long", " for it\n", "two\n"] {
                    try await server.notify(Array(chunk.utf8), of: Bench.notifying, to: change.central)
                }
            }
        }
        try await Self.run(Bench.notifying, dropping: 4, serve: serve) { _, session in
            _ = try await session.states.first { $0.state.kind == .failed }
            let chunks = session.notifications(of: Bench.notifying)
            let lines = chunks.assembled(until: .delimiter("\n"), maximumSize: 8)
            let taken = try await lines.retry(.constant(.seconds(1))).timeout(.seconds(60)).collect(2)
            #expect(taken.map { String(decoding: $0, as: UTF8.self) } == ["one", "two"])
        }
    }

    @Test func `what is left as the session is reset comes before the gap`() async throws {
        try await Self.run(Bench.notifying, dropping: 10, serve: Bench.sendNumbers(30)) { _, session in
            _ = try await session.states.first { $0.state.kind == .failed }
            let first = try await session.notifications(of: Bench.notifying).first()
            #expect(UInt32(octets: first) == 0)
            try session.reset()
            var numbers: [UInt32] = []
            for try await item in session.notifications(of: Bench.notifying).withGaps().timeout(.seconds(60)) {
                switch item {
                case .value(let value): numbers.append(UInt32(octets: value))
                case .gap(let gap):
                    #expect(numbers == Array(1..<10))
                    #expect((gap.reason as? BLEError)?.reason?.kind == .supervisionTimeout)
                }
                if numbers.count == 39 { break }
            }
            #expect(numbers == Array(1..<10) + Array(0..<30))
        }
    }
}
