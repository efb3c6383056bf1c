import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Discovery of chosen services only.
@Suite(.timeLimit(.minutes(10))) struct ChosenServicesTests {
    private static let first = BluetoothUUID(0xA000)
    private static let second = BluetoothUUID(0xB000)
    private static let absent = BluetoothUUID(0xD000)

    private static let many = LocalPeripheral(name: "Many", advertising: [first]) {
        LocalService(first) {
            LocalCharacteristic(Bench.readable, [.read, .write, .writeWithoutResponse], value: .stored([1, 2, 3]))
            LocalCharacteristic(Bench.notifying, [.read, .notify], value: .stored([0]))
        }
        LocalService(second) {
            LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([4]))
        }
        for number in UInt16(0xC000)...0xC00F {
            LocalService(BluetoothUUID(number)) {
                LocalCharacteristic(BluetoothUUID(number + 0x100), [.read], value: .stored([5]))
            }
        }
    }

    private func withLink(_ body: @escaping @Sendable (Link, Bench) async throws -> Void) async throws {
        try await Bench.run(description: Self.many, serve: Bench.sendNumbers(2)) { bench in
            bench.air.faults.add(.replace(.opcode(0x03), with: [0x03, 0x17, 0x00]))
            try await bench.peripheral.withLink { link in try await body(link, bench) }
        }
    }

    @Test func `chosen services are found with a fraction of the requests, and are used without any more`() async throws
    {
        try await withLink { link, bench in
            let database = try await link.discover(services: [Self.first, Self.absent])
            #expect(database.services.map(\.uuid) == [Self.first])
            #expect(database.characteristic(Bench.notifying)?.clientConfiguration != nil)
            let requests = bench.sent(by: .central).count
            #expect(requests < 14, "\(requests) requests")
            let found = try #require(database.characteristic(Bench.readable))
            let value = try await link.read(found)
            #expect(Array(value) == [1, 2, 3])
            try await link.write([9], to: Bench.readable)
            try await link.write([8], to: Bench.readable, .withoutResponse)
            try await link.expect(Bench.readable, reads: [8])
            let again = try await link.discover(services: [Self.absent, Self.first])
            #expect(again == database && bench.sent(by: .central).count == requests + 4)
            let values = try await link.notifications(of: Bench.notifying).collect(2)
            #expect(values.count == 2)
        }
    }

    @Test func `what was not chosen has everything discovered, and chosen ones are a part of that`() async throws {
        try await withLink { link, bench in
            let chosen = try await link.discover(services: [Self.second])
            try await link.expect(Bench.readable, reads: [1, 2, 3])
            let all = try await link.discover()
            #expect(all.services.count == 20)
            let requests = bench.sent(by: .central).count
            let part = try await link.discover(services: [Self.second])
            #expect(part == chosen && bench.sent(by: .central).count == requests)
            #expect(all.service(Self.second) == part.service(Self.second))
        }
    }

    @Test func `a characteristic that no service has is not found`() async throws {
        try await withLink { link, _ in
            _ = try await link.discover(services: [Self.first])
            let error = await bleError { _ = try await link.read(BluetoothUUID(0xFFF1)) }
            #expect(error?.code == .notFound)
        }
    }
}
