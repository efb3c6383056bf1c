import BLESimulator
import BLEStreams
import Testing

/// Any two who use one peripheral at a time, through a lost link, and where one of them leaves.
@Suite(.timeLimit(.minutes(10))) struct SharingMatrixTests {
    /// The ways to use a peripheral.
    enum User: String, CaseIterable, CustomTestStringConvertible {
        case stream, session, closure, queue

        var testDescription: String { rawValue }

        /// Gets so many values, one a second or so.
        func collect(_ count: Int, _ uuid: BluetoothUUID, _ bench: Bench) async throws -> Int {
            switch self {
            case .stream:
                try await bench.peripheral.stream { $0.notifications(of: uuid) }.retry().prefix(count).collect().count
            case .session:
                try await bench.central.withSession(Session.Plan(bench.peripheral).subscribing(to: uuid)) { session in
                    try await session.notifications(of: uuid).prefix(count).collect().count
                }
            case .closure: try await Self.collectInClosures(count, uuid, bench)
            case .queue:
                try await bench.peripheral.withQueue { queue in
                    let queue = queue.connecting().retrying(.exponential(attempts: 10))
                    for _ in 0..<count {
                        _ = try await queue.run(.read(uuid))
                        try await bench.time.sleep(for: .seconds(1))
                    }
                    return count
                }
            }
        }

        private static func collectInClosures(_ count: Int, _ uuid: BluetoothUUID, _ bench: Bench) async throws -> Int {
            var values = 0
            while values < count {
                do {
                    try await bench.peripheral.withLink { link in
                        for try await _ in link.notifications(of: uuid) {
                            values += 1
                            if values == count { break }
                        }
                    }
                } catch let error as BLEError where error.code == .disconnected {
                    // The next closure has the next link.
                }
            }
            return values
        }
    }

    private static let sendTwo: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        var number: UInt32 = 0
        while true {
            try await server.notify(number.octets, of: Bench.notifying)
            try await server.notify(number.octets, of: Bench.counter)
            number += 1
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    private static func connections(_ bench: Bench) async throws -> Int {
        try await bench.peripheral.connectionStates.take(until: bench.time.after(.seconds(55)))
            .filter { $0 == .connected }.collect().count
    }

    @Test(arguments: User.allCases, User.allCases)
    func `both go on behind a lost link, and neither starves the other`(first: User, second: User) async throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            try await Bench.run(seed: seed, serve: Self.sendTwo) { bench in
                bench.air.faults.add(.dropLink(after: .seconds(8)))
                async let connections = Self.connections(bench)
                async let one = first.collect(20, Bench.notifying, bench)
                async let two = second.collect(20, Bench.counter, bench)
                let counts = try await [one, two]
                #expect(counts == [20, 20])
                #expect(bench.time.now < .seconds(50), "seed \(seed): \(bench.time.now)")
                let made = try await connections
                #expect(made == 2, "seed \(seed)")
                #expect(bench.centralAdapter.activity.isIdle, "seed \(seed)")
            }
        }
    }

    @Test(arguments: User.allCases, User.allCases)
    func `one leaves, and the other goes on, on the same link`(first: User, second: User) async throws {
        try await Bench.run(serve: Self.sendTwo) { bench in
            async let connections = Self.connections(bench)
            async let two = second.collect(20, Bench.counter, bench)
            let few = try await first.collect(3, Bench.notifying, bench)
            let all = try await two
            #expect(few == 3 && all == 20)
            #expect(bench.time.now < .seconds(30), "\(bench.time.now)")
            let made = try await connections
            #expect(made == 1)
        }
    }
}
