import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@testable import BLEStreams

/// A session with a bonded peripheral, which remembers what was subscribed to, by keys that have a type; and what the program
/// does in the session's queue meanwhile.
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
