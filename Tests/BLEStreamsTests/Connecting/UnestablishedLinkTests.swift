import BLESimulator
import BLEStreams
import Testing

/// Peripherals that accept a connection and are not heard on it: HCI 0x3E, the commonest failure on air.
@Suite(.timeLimit(.minutes(10))) struct UnestablishedLinkTests {
    private static func links(_ bench: Bench) -> Int {
        bench.air.trace.count { if case .connected = $0.event { true } else { false } }
    }

    /// The ways to a link, each of which ends with what it has read.
    private enum Way: String, CaseIterable, CustomTestStringConvertible {
        case withLink, stream, queue, session, pairing, joined

        var testDescription: String { rawValue }

        func take(_ bench: Bench) async throws {
            switch self {
            case .withLink:
                let value = try await bench.peripheral.withLink { try await $0.read(Bench.readable) }
                #expect(Array(value) == [1, 2, 3])
            case .stream:
                let numbers = bench.peripheral.stream { $0.notifications(of: Bench.notifying) }
                #expect(try await numbers.map { UInt32(octets: $0) }.prefix(3).collect() == [0, 1, 2])
            case .queue:
                let value = try await bench.peripheral.withQueue {
                    try await $0.connecting().run(.read(Bench.readable))
                }
                #expect(Array(value) == [1, 2, 3])
            case .session:
                let value = try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                    try await session.read(Bench.readable)
                }
                #expect(Array(value) == [1, 2, 3])
            case .pairing:
                let outcome = try await bench.central.pair(
                    with: .address(bench.peripheralAdapter.address),
                    by: PairingFlow(reading: Bench.readable, limit: .seconds(60))
                )
                #expect(outcome.peripheral.address == bench.peripheralAdapter.address)
            case .joined:
                let central = try await Central.open(
                    .joined([.radio(bench.centralAdapter), .radio(bench.air.adapter())])
                )
                let peripheral = central.peripheral(bench.peripheralAdapter.address)
                #expect(Array(try await peripheral.withLink { try await $0.read(Bench.readable) }) == [1, 2, 3])
            }
        }
    }

    @Test(arguments: Way.allCases)
    private func `three links of four that are not established are made again`(way: Way) async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            bench.air.faults.add(.neverEstablish(3, of: 4))
            try await way.take(bench)
            #expect(Self.links(bench) == 4)
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test(arguments: Way.allCases.filter { $0 != .session && $0 != .pairing })
    private func `more are borne, for as long as the caller has time`(way: Way) async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            bench.air.faults.add(.neverEstablish().times(8))
            try await way.take(bench)
            #expect(Self.links(bench) == 9)
            #expect(bench.time.now < .seconds(20))
        }
    }

    @Test func `a peripheral that is never heard fails at the caller's limit, with what was seen and what to do`()
        async throws
    {
        try await Bench.run { bench in
            bench.air.faults.add(.neverEstablish())
            let error = await bleError { try await bench.peripheral.withLink(timeout: .seconds(60)) { _ in } }
            #expect(bench.time.now == .seconds(60))
            #expect(error?.code == .connectionFailed && error?.reason?.kind == .failedToEstablish)
            #expect(error?.elapsed == .seconds(60) && error?.isFinal == false)
            let tries = Self.links(bench)
            #expect((10...24).contains(tries), "\(tries) tries")
            #expect(error?.description.contains("\(tries) times") == true, "\(error?.description ?? "")")
            #expect(error?.remedy.contains("closer") == true)
            try await bench.time.sleep(for: .seconds(3))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a link that was handed over is not made again, whatever ends it`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.dropLink(insteadOf: .readResponses, reason: .failedToEstablish))
            let error = await bleError {
                try await bench.peripheral.withLink { _ = try await $0.read(Bench.readable) }
            }
            #expect(error?.code == .disconnected && error?.reason?.kind == .failedToEstablish)
            #expect(Self.links(bench) == 1)
        }
    }

    @Test func `a link that the peer closes before it was heard is not made again`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.dropLink(insteadOf: .opcode(0x03), reason: .closedByPeer))
            let error = await bleError { try await bench.peripheral.withLink { _ in } }
            #expect(error?.code == .disconnected && error?.reason?.kind == .closedByPeer)
            #expect(Self.links(bench) == 1)
        }
    }

    @Test func `a link that is lost in its first steps is final for no attempt to connect`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.dropLink(insteadOf: .opcode(0x03), reason: .supervisionTimeout).times(2))
            var value: CharacteristicValue?
            while value == nil {
                do {
                    value = try await bench.peripheral.withLink { try await $0.read(Bench.readable) }
                } catch let error as BLEError where !error.isFinal {
                    #expect(error.operation == "connect" && error.code == .disconnected)
                }
            }
            #expect(value.map(Array.init) == [1, 2, 3] && Self.links(bench) == 3)
        }
    }

    @Test func `states tell each link that was lost, and that the attempt goes on`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.neverEstablish().times(2))
            async let states = bench.peripheral.connectionStates.collect(9)
            try await bench.time.sleep(for: .seconds(1))
            try await bench.peripheral.withLink { _ in }
            let lost = Peripheral.ConnectionState.disconnected(DisconnectReason(.failedToEstablish))
            #expect(
                try await states == [
                    .disconnected(nil), .connecting, lost, .connecting, lost, .connecting, .connected, .disconnecting,
                    .disconnected(DisconnectReason(.closedLocally)),
                ]
            )
        }
    }

    @Test func `it can be cancelled at any moment, and leaves nothing behind`() async throws {
        for moment in stride(from: 0, through: 8000, by: 230) {
            try await Bench.run { bench in
                bench.air.faults.add(.neverEstablish())
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) { try await bench.peripheral.withLink { _ in } }
                    }
                    try? await bench.time.sleep(for: .milliseconds(moment))
                    group.cancelAll()
                }
                try await bench.time.sleep(for: .seconds(4))
                #expect(bench.centralAdapter.activity.isIdle, "after \(moment) ms")
                let state = try await bench.peripheral.connectionStates.first()
                guard case .disconnected = state else {
                    Issue.record("\(state) after \(moment) ms")
                    return
                }
            }
        }
    }

    @Test func `who waits beside a session that has rules of its own goes on until its limit`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.neverEstablish().times(9))
            var plan = Session.Plan(bench.peripheral)
            plan.immediateAttempts = 0
            plan.reconnecting = nil
            try await bench.central.withSession(plan) { session in
                _ = try await session.states.first { $0.state.kind == .connecting }
                let value = try await bench.peripheral.withLink { try await $0.read(Bench.readable) }
                #expect(Array(value) == [1, 2, 3])
                #expect(session.state.kind == .failed)
            }
        }
    }
}
