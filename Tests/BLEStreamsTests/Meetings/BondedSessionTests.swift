import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// A session with a bonded peripheral, which remembers what was subscribed to, by keys that have a type; and what the
/// program does in the session's queue meanwhile.
@Suite(.timeLimit(.minutes(10))) struct BondedSessionTests {
    private typealias Vault = SecurityOnDemandTests

    /// A number of 32 bits.
    private static let number = TypedCharacteristic<UInt32>(BluetoothUUID(0xB101), in: BluetoothUUID(0xB100)) {
        reader throws(MalformedValue) in
        try reader.uint32()
    } encode: { value, writer throws(MalformedValue) in
        writer.uint32(value)
    }

    private static let description = LocalPeripheral(name: "Counter") {
        LocalService(BluetoothUUID(0xB100)) {
            LocalCharacteristic(
                number.uuid,
                [.read, .write, .notify],
                value: .stored([9, 0, 0, 0]),
                access: .encrypted
            )
        }
    }

    private static func withCounter(
        seed: UInt64,
        _ body: @escaping @Sendable (Bench, Vault.Person) async throws -> Void
    ) async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            var next: UInt32 = 0
            while true {
                _ = try await server.notify(next, of: number)
                next += 1
                try await bench.time.sleep(for: .milliseconds(100))
            }
        }
        try await Bench.run(seed: seed, description: description, serve: serve) { bench in
            bench.peripheralAdapter.settings.pairing = .showsPasskey(Vault.passkey)
            let person = Vault.Person()
            bench.peripheral.allowPairing(person.answers(after: .seconds(1), on: bench.time))
            try await body(bench, person)
        }
    }

    /// What is under way when the link is lost fails, and is not done a second time by itself; what comes later waits.
    private static func onceMoreWhereLost<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as BLEError where error.code == .disconnected {
            return try await body()
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `values with a type come in order over lost links, before and behind the bond`(seed: UInt64) async throws {
        try await Self.withCounter(seed: seed) { bench, person in
            let (numbers, gaps) = (Recorder<UInt32>(), Recorder<StreamGap>())
            var chance = Chance(seed: seed)
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await item in session.notifications(of: Self.number).withGaps() {
                            switch item {
                            case .value(let number): numbers.add(number)
                            case .gap(let gap): gaps.add(gap)
                            }
                        }
                    }
                    for round in 0..<4 {
                        try await bench.time.sleep(for: .milliseconds(2_000 + chance.below(3_000)))
                        _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                        // Written and read by the same key meanwhile, on whichever link there is.
                        try await Self.onceMoreWhereLost {
                            try await session.write(UInt32(round), to: Self.number, timeout: .seconds(20))
                        }
                        let read = try await Self.onceMoreWhereLost {
                            try await session.read(Self.number, timeout: .seconds(20))
                        }
                        #expect(read == UInt32(round))
                    }
                    try await bench.time.sleep(for: .seconds(3))
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
                // What the peripheral has kept of an earlier link is switched off when nobody can claim it any more.
                try await bench.time.sleep(for: EarlyValues.period + .seconds(1))
                try await session.withLink { try await $0.expectNoSubscriptions() }
            }
            let steps = zip(numbers.all, numbers.all.dropFirst()).map { Int($1) - Int($0) }
            #expect(steps.allSatisfy { $0 > 0 } && steps.filter { $0 != 1 }.count <= gaps.all.count, "\(steps)")
            #expect(numbers.all.count > 40 && person.asked == 1)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a retried and timed command of the session's queue pairs on demand, once, over a lost link`(
        seed: UInt64
    ) async throws {
        try await Self.withCounter(seed: seed) { bench, person in
            var chance = Chance(seed: seed)
            let instant = Duration.milliseconds(chance.below(1_500))
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                _ = bench.air.faults.add(.dropLink(after: instant))
                let read = CommandBlock.read(Self.number).timeout(.seconds(4)).retry(
                    .constant(.milliseconds(300), attempts: 5)
                )
                let value = try await session.queue.run(read.timeout(.seconds(60)))
                #expect(value == 9)
                let isEncrypted = try await session.withLink { $0.security.isEncrypted }
                #expect(isEncrypted && (1...2).contains(person.asked))
            }
        }
    }

    @Test func `a person who is too slow for the time limit fails the attempts, and the queue goes on`() async throws {
        try await Self.withCounter(seed: 1) { bench, _ in
            let slow = Vault.Person()
            bench.peripheral.allowPairing(slow.answers(after: .seconds(20), on: bench.time))
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let read = CommandBlock.read(Self.number).timeout(.seconds(2)).retry(
                    .constant(.seconds(1), attempts: 2)
                )
                let error = await bleError { try await session.queue.run(read) }
                #expect(error?.code == .timedOut, "\(error as Any)")
                let text = try await session.queue.run(.read(BluetoothUUID(0x2A00)))
                #expect(text.text == "Counter" && session.queue.activeFlow == nil)
            }
        }
    }
}
