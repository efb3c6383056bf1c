import BLEProtocol
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Consumers that subscribe while the last subscription of the same characteristic is being switched off.
@Suite(.timeLimit(.minutes(10))) struct ResubscribingTests {
    /// Sends a number, ever greater, several times in each connection interval.
    private static let sendFast: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        for number: UInt32 in 0... {
            try await server.notify(number.octets, of: Bench.notifying)
            try await bench.time.sleep(for: .milliseconds(4))
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `the values of the next stream are without a hole, which the peripheral makes between the two`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed, serve: Self.sendFast) { bench in
            try await bench.peripheral.withLink { link in
                let numbers = link.notifications(of: Bench.notifying).map { UInt32(octets: $0) }
                let earlier = try await numbers.first()
                let later = try await numbers.collect(100)
                #expect(later[0] > earlier && later == Array(later[0]..<later[0] + 100))
                #expect(bench.writes == [[1, 0], [0, 0], [1, 0]])
            }
        }
    }

    @Test func `a message of the next stream has no hole`() async throws {
        // 26 letters, and then a new line.
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for number in 0... {
                let letter = number % 27 < 26 ? UInt8(97 + number % 27) : 10
                try await server.notify([letter], of: Bench.notifying)
                try await bench.time.sleep(for: .milliseconds(4))
            }
        }
        let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
        try await Bench.run(serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                for _ in 0..<20 {
                    let lines = link.notifications(of: Bench.notifying).assembled(until: .delimiter("\n"))
                    let line = try await lines.first()
                    // It may begin in the middle.
                    #expect(line == letters.suffix(line.count))
                }
            }
        }
    }

    @Test func `a value is read behind the subscription that follows it, not before`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let values = link.values(of: Bench.counter)
                for _ in 0..<2 {
                    let value = try await values.first()
                    #expect(Array(value) == [9])
                }
                let sent = bench.sent(by: .central).filter { [0x0A, 0x12].contains($0.first) }
                #expect(sent.map { $0.count == 5 ? Int($0[3]) : -1 }.suffix(5) == [1, -1, 0, 1, -1])
            }
        }
    }

    @Test func `who leaves before that is done gets nothing, and the next one does`() async throws {
        try await Bench.run(serve: Self.sendFast) { bench in
            try await bench.peripheral.withLink { link in
                let numbers = link.notifications(of: Bench.notifying).map { UInt32(octets: $0) }
                _ = try await numbers.first()
                let soon = try await numbers.prefix(for: .milliseconds(1)).collect()
                let later = try await numbers.collect(100)
                #expect(soon.isEmpty && later == Array(later[0]..<later[0] + 100))
            }
        }
    }

    @Test func `so are its notifications while indications of the same characteristic stay on`() async throws {
        let both = BluetoothUUID(0xE003)
        let description = LocalPeripheral(name: "Both") {
            LocalService(BluetoothUUID(0xE000)) { LocalCharacteristic(both, [.notify, .indicate]) }
        }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            for number: UInt32 in 0... {
                try await server.notify(number.octets, of: both)
                try await bench.time.sleep(for: .milliseconds(4))
            }
        }
        try await Bench.run(description: description, serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                let indications = try await link.subscribe(
                    .uuid(both, service: nil),
                    indications: true,
                    deliver: { _ in }
                )
                let numbers = link.notifications(of: both).map { UInt32(octets: $0) }
                let earlier = try await numbers.first()
                let later = try await numbers.collect(100)
                #expect(later[0] > earlier && later == Array(later[0]..<later[0] + 100))
                #expect(bench.writes == [[2, 0], [3, 0], [2, 0], [3, 0]])
                indications()
            }
        }
    }

    @Test func `a value is read again behind a subscription that is put off as the services change elsewhere`()
        async throws
    {
        let more = LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([1]))
        }
        try await Bench.run(serve: Bench.changing(to: Bench.description.services + [more])) { bench in
            try await bench.peripheral.withLink { link in
                let database = try await link.discover()
                let handle = try #require(database.characteristic(Bench.counter)).valueHandle
                // Service Changed is subscribed to behind the first request.
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                try await bench.time.sleep(for: .seconds(1))
                try await link.write([0xFF], to: Bench.readable, .withoutResponse)
                // One connection interval, so that both cross.
                try await bench.time.sleep(for: .milliseconds(30))
                for try await _ in link.values(of: Bench.counter).prefix(for: .seconds(2)) {}
                let own = bench.sent(by: .central).filter {
                    [0x0A, 0x12].contains($0[0]) && [handle, handle + 1].contains(UInt16($0[1]))
                }
                // The first of the two subscriptions is answered with Database Out Of Sync.
                #expect(own.map(\.[0]) == [0x12, 0x0A, 0x12, 0x0A])
            }
        }
    }

    @Test func `a stream of a session that begins before the one before it is switched off goes on with that`()
        async throws
    {
        try await Bench.run(serve: Self.sendFast) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let numbers = session.notifications(of: Bench.notifying).map { UInt32(octets: $0) }
                bench.air.faults.add(.delay(.readResponses, by: .seconds(1)).times(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    var count = 0
                    for try await _ in numbers {
                        count += 1
                        // It has its turn for so long that the switch-off waits for it.
                        if count == 1 { group.addTask { _ = try await session.read(Bench.readable) } }
                        if count == 20 { break }
                    }
                    let later = try await numbers.collect(1000)
                    #expect(later == Array(later[0]..<later[0] + 1000))
                    try await group.waitForAll()
                }
                #expect(bench.writes == [[1, 0]])
            }
        }
    }

    @Test(arguments: [false, true])
    func `a value is read again behind a subscription for which the link was made more secure`(
        isSlow: Bool
    ) async throws {
        let (uuid, reads) = (BluetoothUUID(0xB001), Counter())
        // Its value has changed once it is read, before it is told to send changes.
        let description = LocalPeripheral(name: "Vault") {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(uuid, [.read, .notify]) { _ in reads.next() == 1 ? [1] : [2] }
            }
        }
        try await Bench.run(description: description) { bench in
            try await bench.peripheral.withLink(pairing: PairingAnswers()) { link in
                _ = try await link.discover()
                try await bench.time.sleep(for: .seconds(1))
                // Only the subscription is protected: Insufficient Authentication. The value comes while the link is
                // made more secure, or later.
                bench.air.faults.add(.replace(.opcode(0x13), with: [0x01, 0x12, 0x00, 0x00, 0x05]).times(1))
                if isSlow { bench.air.faults.add(.delay(.readResponses, by: .seconds(2)).times(1)) }
                _ = try await link.values(of: uuid).timeout(.seconds(10)).first { Array($0) == [2] }
                #expect(link.security.isEncrypted && reads.count == 2)
            }
        }
    }
}

private final class Counter: Sendable {
    private let number = Mutex(0)
    var count: Int { number.withLock { $0 } }

    func next() -> Int {
        number.withLock { number in
            number += 1
            return number
        }
    }
}
