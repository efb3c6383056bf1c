import BLESimulator
import Testing

@testable import BLEStreams

/// Flows that connect again, over links that are lost before the flow has them.
@Suite(.timeLimit(.minutes(10))) struct ReconnectTests {
    private static let policy = RetryPolicy.constant(.seconds(1), attempts: 2)
    private static let reconnecting = CommandBlock<Void>("flow") { try await $0.reconnect(policy) }

    private static func connections(_ bench: Bench) -> Int {
        bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
    }

    @Test func `a link that is lost while it is authorized is made again`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.dropLink(insteadOf: .readRequests))
            let attempts = Recorder<Duration>()
            try await bench.peripheral.withQueue { queue in
                let queue = queue.authorizing { link in
                    attempts.add(bench.time.now)
                    _ = try await link.read(Bench.readable)
                }
                try await queue.run(Self.reconnecting)
            }
            #expect(attempts.all.count == 2)
        }
    }

    @Test(arguments: [false, true])
    func `a flow on a session goes on only when the link is authorized`(resumes: Bool) async throws {
        try await Bench.run(serve: DecoratorTests.guarded) { bench in
            let attempts = Recorder<Duration>()
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let queue = session.queue.authorizing { link in
                    attempts.add(bench.time.now)
                    // Refused once on the second link, as by a device that has just restarted.
                    let key: [UInt8] = attempts.all.count == 2 ? [0] : DecoratorTests.key
                    try await link.write(key, to: Bench.dynamic)
                }
                let flow = CommandBlock<[UInt8]>("flow") { context in
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                    if resumes {
                        return try await context.resuming(Self.policy) { Array(try await context.read(Bench.dynamic)) }
                    }
                    _ = try? await context.read(Bench.dynamic)
                    try await context.reconnect(Self.policy)
                    return Array(try await context.read(Bench.dynamic))
                }
                let value = try await queue.run(flow)
                #expect(value == [42] && attempts.all.count == 3)
                // It authorizes once on each link, and leaves that to others.
                let again = try await queue.run(.read(Bench.dynamic))
                #expect(again.bytes == [42] && attempts.all.count == 3)
            }
        }
    }

    @Test func `a link that is lost as it settles is made again`() async throws {
        try await Bench.run { bench in
            // Exchange MTU Request.
            bench.air.faults.add(.dropLink(insteadOf: .opcode(0x02)))
            try await bench.peripheral.withQueue { try await $0.run(Self.reconnecting) }
            #expect(Self.connections(bench) == 2)
        }
    }

    @Test func `a flow that resumes makes no more attempts than its policy has`() async throws {
        try await Bench.run { bench in
            for _ in 0..<20 { bench.air.faults.add(.dropLink(insteadOf: .opcode(0x02))) }
            let begins = Recorder<Duration>()
            let flow = CommandBlock<Void>("flow") { context in
                try await context.resuming(Self.policy) { begins.add(bench.time.now) }
            }
            let error = await bleError { try await bench.peripheral.withQueue { try await $0.run(flow) } }
            #expect(error?.code == .disconnected && begins.all.isEmpty)
            #expect(Self.connections(bench) == 3)
        }
    }

    @Test func `the end of a link with its adapter is the adapter's, though it is final for the link`() async throws {
        try await Bench.run { bench in
            let off = BLEError.linkEnded(DisconnectReason(.adapterOff), operation: "connect", object: "it")
            #expect(off.isFinal && bench.central.core.isOfAdapter(off, connectingTo: bench.peripheral.address))
            let lost = BLEError.linkEnded(DisconnectReason(.supervisionTimeout), operation: "connect", object: "it")
            #expect(lost.isFinal && !bench.central.core.isOfAdapter(lost, connectingTo: bench.peripheral.address))
        }
    }
}
