import BLESimulator
import BLEStreams
import Testing

/// Consumers of a planned subscription that come one after another.
@Suite(.timeLimit(.minutes(10))) struct SuccessiveConsumersTests {
    private static let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)

    /// Sends numbers in bursts, as fast as the link takes them, to a session with a plan.
    private static func run(
        bursts: Int,
        of size: Int,
        _ body: @escaping @Sendable (Bench, Session) async throws -> Void
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                for number in 0..<UInt32(bursts * size) {
                    if number.isMultiple(of: UInt32(size)) { try await bench.time.sleep(for: .seconds(1)) }
                    try await server.notify(number.octets, of: Bench.notifying, to: change.central)
                }
            }
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.central.withSession(Self.plan) { session in try await body(bench, session) }
        }
    }

    @Test func `values that are taken one at a time come all, and in order`() async throws {
        try await Self.run(bursts: 8, of: 25) { _, session in
            var numbers: [UInt32] = []
            for _ in 0..<200 {
                numbers.append(UInt32(octets: try await session.notifications(of: Bench.notifying).first()))
            }
            #expect(numbers == Array(0..<200))
        }
    }

    @Test func `a small buffer takes over what was kept, and fails only by what comes then`() async throws {
        try await Self.run(bursts: 1, of: 100) { bench, session in
            try await session.ready()
            try await bench.time.sleep(for: .seconds(20))
            for number in 0..<100 as Range<UInt32> {
                let value = try await session.notifications(of: Bench.notifying, buffer: .fail(10)).first()
                #expect(UInt32(octets: value) == number)
            }
        }
    }

    @Test func `values of the plan that are taken one at a time come all, and in order`() async throws {
        try await Self.run(bursts: 4, of: 25) { _, session in
            var numbers: [UInt32] = []
            for _ in 0..<100 { numbers.append(UInt32(octets: try await session.values.first().value)) }
            #expect(numbers == Array(0..<100))
        }
    }

    @Test func `values that are taken some at a time, by consumers that are cancelled, come all`() async throws {
        try await Self.run(bursts: 8, of: 25) { bench, session in
            var numbers: [UInt32] = []
            while numbers.count < 200 {
                let count = min(numbers.count % 7 + 1, 200 - numbers.count)
                numbers += try await session.notifications(of: Bench.notifying).collect(count).map {
                    UInt32(octets: $0)
                }
                // One that is given up before it has anything.
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try? await session.notifications(of: Bench.notifying).first() }
                    group.cancelAll()
                }
            }
            #expect(numbers == Array(0..<UInt32(numbers.count)))
        }
    }

    @Test func `the counts of a consumer that leaves are right, and its values count for the next one`() async throws {
        try await Self.run(bursts: 1, of: 40) { bench, session in
            try await session.ready()
            let former = session.notifications(of: Bench.notifying)
            _ = try await former.collect(10)
            try await bench.time.sleep(for: .seconds(20))
            let next = session.notifications(of: Bench.notifying)
            #expect(try await next.collect(30).map { UInt32(octets: $0) } == Array(10..<40))
            for stream in [former, next] {
                #expect(stream.counters.received == stream.counters.delivered && stream.counters.dropped == 0)
            }
        }
    }

    @Test func `messages that are taken one at a time are whole`() async throws {
        let mark = EndMark.endOfMessage("EOM")
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                for number in 1...UInt8(12) {
                    let message = [UInt8](repeating: number, count: 900)
                    try await server.send(message, of: Bench.notifying, to: change.central, endingWith: mark)
                }
            }
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.central.withSession(Self.plan) { session in
                for number in 1...UInt8(12) {
                    let message = try await session.notifications(of: Bench.notifying).assembled(until: mark).first()
                    #expect(message == [UInt8](repeating: number, count: 900))
                }
            }
        }
    }

    @Test func `what a former consumer has left comes before the gap of a lost link`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(30)) { bench in
            bench.air.faults.add(.dropLink(after: 10, .notifications))
            try await bench.central.withSession(Self.plan) { session in
                #expect(UInt32(octets: try await session.notifications(of: Bench.notifying).first()) == 0)
                try await bench.time.sleep(for: .seconds(60))
                var numbers: [UInt32] = []
                for try await item in session.notifications(of: Bench.notifying).withGaps() {
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

    /// The first stream has taken all, and leaves before the link is lost, or while there is none.
    @Test(arguments: [false, true])
    func `a stream behind another one begins with the gap of a lost link`(staysForLoss: Bool) async throws {
        try await Bench.run(serve: Bench.sendNumbers(10)) { bench in
            try await bench.central.withSession(Self.plan) { session in
                let values = session.notifications(of: Bench.notifying)
                let end = bench.time.after(.seconds(30))
                async let taken = (staysForLoss ? values.take(until: end) : values.prefix(10)).collect()
                try await bench.time.sleep(for: .seconds(20))
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(20))
                #expect(try await taken.count == 10)
                bench.centralAdapter.powerOn()
                let first = try await values.withGaps().first()
                let gap = if case .gap(let gap) = first { gap } else { nil as StreamGap? }
                #expect((gap?.reason as? BLEError)?.code == .adapterPoweredOff, "\(first)")
                #expect(gap?.duration ?? .zero > .seconds(20))
            }
        }
    }

    /// One of two streams has taken all; the other one, which leaves last, began later.
    @Test func `a stream behind several begins with the gap of a lost link, whoever has taken the values`() async throws
    {
        try await Bench.run(serve: Bench.sendNumbers(10)) { bench in
            try await bench.central.withSession(Self.plan) { session in
                let values = session.notifications(of: Bench.notifying)
                async let taken = values.take(until: bench.time.after(.seconds(30))).collect()
                try await bench.time.sleep(for: .seconds(20))
                let later = try await values.take(until: bench.time.after(.seconds(20))).collect()
                #expect(try await taken.count == 10 && later.isEmpty)
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(20))
                bench.centralAdapter.powerOn()
                let first = try await values.withGaps().first()
                #expect((first.gap?.reason as? BLEError)?.code == .adapterPoweredOff, "\(first)")
            }
        }
    }

    @Test func `a stream behind one that had nothing begins without a gap`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            try await bench.time.sleep(for: .seconds(100))
            try await Bench.sendForEver(server, bench)
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.central.withSession(Self.plan) { session in
                let values = session.notifications(of: Bench.notifying)
                #expect(try await values.take(until: bench.time.after(.seconds(20))).collect().isEmpty)
                bench.centralAdapter.powerOff()
                try await bench.time.sleep(for: .seconds(20))
                bench.centralAdapter.powerOn()
                let first = try await values.withGaps().first()
                let value = if case .value(let value) = first { value } else { nil as CharacteristicValue? }
                #expect(value != nil, "\(first)")
            }
        }
    }

    @Test func `what the kernel dropped while there was no consumer is missing where it was`() async throws {
        try await Self.run(bursts: 2, of: 3) { bench, session in
            bench.air.faults.add(.overflow(.notifications).skipping(2).times(3))
            try await session.ready()
            try await bench.time.sleep(for: .seconds(20))
            let values = session.notifications(of: Bench.notifying)
            let items = try await values.withGaps().timeout(.seconds(60)).collect(4)
            let seen = items.map { item in
                if let value = item.value { "\(UInt32(octets: value))" } else { "\(item.gap?.dropped ?? 0) dropped" }
            }
            #expect(seen == ["0", "1", "3 dropped", "5"])
            #expect(values.counters.received == 6 && values.counters.dropped == 3)
        }
    }

    @Test func `what a consumer has left while others were there is theirs already`() async throws {
        try await Self.run(bursts: 4, of: 25) { _, session in
            try await withThrowingTaskGroup(of: [UInt32].self) { group in
                group.addTask {
                    try await session.notifications(of: Bench.notifying).collect(100).map { UInt32(octets: $0) }
                }
                group.addTask {
                    _ = try await session.notifications(of: Bench.notifying).first()
                    return Array(0..<100)
                }
                for try await numbers in group { #expect(numbers == Array(0..<100)) }
            }
        }
    }
}
