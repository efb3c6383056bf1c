import BLESimulator
import BLEStreams
import Testing

/// One peripheral, which a session, a queue and a scope of a link use at the same time.
@Suite(.timeLimit(.minutes(10))) struct SharedPeripheralTests {
    @Test func `a flow that leaves a link of others, and comes back, has each value once`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let flow = CommandBlock<[UInt32]>("come back") { context in
                try await context.reconnect()
                try await context.subscribe(to: Bench.notifying)
                _ = try await context.value(timeout: .seconds(10))
                try await context.disconnect()
                while context.available() != nil {}
                try await bench.time.sleep(for: .seconds(5))
                let isQuiet = context.available() == nil
                #expect(isQuiet, "its subscription has ended")
                try await context.reconnect()
                try await context.subscribe(to: Bench.notifying)
                var numbers: [UInt32] = []
                while numbers.count < 4 {
                    numbers.append(UInt32(octets: try await context.value(timeout: .seconds(10)).value))
                }
                return numbers
            }
            try await bench.peripheral.withLink { link in
                let numbers = try await bench.peripheral.withQueue { try await $0.run(flow) }
                #expect(numbers == Array(numbers[0]..<numbers[0] + 4))
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
        }
    }

    private static func links(_ bench: Bench) -> Int {
        bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a scope keeps its link while a queue that drops idle links comes and goes, and the other way round`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed) { bench in
            var chance = Chance(seed: seed)
            let idle = Duration.milliseconds(500 + chance.below(1_000))
            let stay = Duration.milliseconds(chance.below(4_000))
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(then: .disconnectWhenIdle(idle))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await bench.peripheral.withLink { link in
                            let end = bench.time.now + stay
                            while bench.time.now < end {
                                try await link.expect(Bench.readable, reads: [1, 2, 3])
                                try await bench.time.sleep(for: .milliseconds(100))
                            }
                        }
                    }
                    for _ in 0..<4 {
                        let value = try await queue.run(.read(Bench.counter))
                        #expect(value.bytes == [9])
                        try await bench.time.sleep(for: .milliseconds(chance.below(2_500)))
                    }
                    try await group.waitForAll()
                }
                // Idle, it goes, and is made again for the next command.
                try await bench.time.sleep(for: idle + .seconds(2))
                #expect(bench.centralAdapter.activity.links.isEmpty)
                let value = try await queue.run(.read(Bench.counter))
                #expect(value.bytes == [9])
            }
            #expect(bench.centralAdapter.activity.links.isEmpty)
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `beside a session a queue of the peripheral is told to use the session's, and a scope shares the link`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Bench.sendForEver) { bench in
            var chance = Chance(seed: seed)
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            let count = Recorder<UInt8>()
            try await bench.central.withSession(plan) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await value in session.notifications(of: Bench.notifying) { count.add(value[0]) }
                    }
                    try await session.ready()
                    for round in 0..<3 {
                        // A scope of a link beside the session ends without taking the session's link along.
                        try await bench.peripheral.withLink { link in
                            try await link.expect(Bench.readable, reads: [1, 2, 3])
                            try await bench.time.sleep(for: .milliseconds(chance.below(1_000)))
                        }
                        // A queue of its own would take it away when idle.
                        try await bench.peripheral.withQueue { queue in
                            let queue = queue.connecting(then: .disconnectWhenIdle(.milliseconds(200)))
                            let error = await bleError { try await queue.run(.read(Bench.counter)) }
                            #expect(error?.code == .busy && error?.remedy.contains("session.queue") == true)
                        }
                        let value = try await session.queue.connecting(then: .disconnectWhenIdle(.milliseconds(200)))
                            .run(
                                .read(Bench.counter).retry()
                            )
                        #expect(value.bytes == [9])
                        let before = count.all.count
                        try await bench.time.sleep(for: .seconds(2))
                        #expect(count.all.count > before && Self.links(bench) == round + 1)
                        _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                        try await bench.time.sleep(for: .seconds(4))
                    }
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
            #expect(bench.centralAdapter.activity.links.isEmpty)
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a session that begins while a queue holds an idle link shares it, and keeps it when the queue lets go`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Bench.sendForEver) { bench in
            var chance = Chance(seed: seed)
            let pause = Duration.milliseconds(chance.below(900))
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(then: .disconnectWhenIdle(.seconds(1)))
                let value = try await queue.run(.read(Bench.counter))
                #expect(value.bytes == [9])
                try await bench.time.sleep(for: pause)
                let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                try await bench.central.withSession(plan) { session in
                    try await session.ready()
                    // Past the queue's patience.
                    let values = try await session.notifications(of: Bench.notifying).prefix(5).collect()
                    try await bench.time.sleep(for: .seconds(3))
                    #expect(values.count == 5 && session.state == .connected(.ready))
                    let level = try await session.queue.run(.read(Bench.counter))
                    #expect(level.bytes == [9])
                }
                // The session is over: the queue makes links again.
                let again = try await queue.run(.read(Bench.counter).retry())
                #expect(again.bytes == [9])
            }
            #expect(bench.centralAdapter.activity.links.isEmpty)
        }
    }
}
