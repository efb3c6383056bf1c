import BLERadio
import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import BLEStreamsTests
@testable import ble

/// What one central of `ble serve` does, and what the others notice of it.
@Suite(.timeLimit(.minutes(10))) struct ServedCentralsTests {
    /// The handle of a characteristic's configuration, least significant octet first.
    private static func configuration(of uuid: BluetoothUUID, _ bench: Bench) async throws -> [UInt8] {
        try await bench.peripheral.withLink { link in
            let found = try #require(try await link.discover().characteristic(uuid)?.clientConfiguration).handle
            return [UInt8(truncatingIfNeeded: found), UInt8(found >> 8)]
        }
    }

    private static func pair(_ central: SimulatedAdapter, with peer: BluetoothAddress) async throws {
        let held = Recorder<RadioActivity>()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            held.add(
                central.pair(with: peer, asking: .justWorks) { outcome in
                    continuation.resume(with: outcome.map { _ in })
                }
            )
        }
    }

    @Test func `a bonded central that comes back without encryption does not end a transfer to the others`()
        async throws
    {
        let services = TransferProfile().services.map { $0.asking(for: .encrypted) }
        let ends = Recorder<String>()
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            do {
                try await TransferProfile().live(server, ServeDiary(.nowhere))
            } catch {
                ends.add("\(error)")
                throw error
            }
        }
        try await Bench.run(description: LocalPeripheral(name: "Teller") { services }, serve: serve) { bench in
            let address = bench.peripheralAdapter.address
            let configuration = try await Self.configuration(of: .demo(2), bench)
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                try await Self.pair(bench.centralAdapter, with: address)
                let answer = await central.ask([0x12] + configuration + [0x01, 0x00])
                #expect(answer == [0x13])
                let first = await central.next()
                #expect(first?.first == 0x1B)
            }
            try await bench.time.sleep(for: .seconds(3))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                try await bench.time.sleep(for: .seconds(20))
                #expect(central.end == nil && ends.all.isEmpty)
            }
        }
    }

    @Test func `a central that agrees on a smaller MTU amid a transfer does not end those to the others`()
        async throws
    {
        let device = LocalPeripheral(name: "Teller") { TransferProfile().services }
        // Little is on its way at a time.
        let settings = AdapterSettings(sendBufferSize: 600)
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await TransferProfile().live(server, ServeDiary(.nowhere))
        }
        try await Bench.run(description: device, settings: settings, serve: serve) { bench in
            let address = bench.peripheralAdapter.address
            let configuration = try await Self.configuration(of: .demo(2), bench)
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                await central.narrow(from: 0x32, to: 0x17, subscribedBy: configuration)
                try await bench.time.sleep(for: .seconds(20))
                #expect(central.end != nil)
            }
            let message = try await bench.peripheral.withLink { link in
                let chunks = link.notifications(of: BluetoothUUID.demo(2)).timeout(.seconds(60))
                return try await chunks.assembled(until: .endOfMessage()).first()
            }
            #expect(message.count > 2000)
        }
    }

    @Test func `a value that is written while another one waits for a central is sent when many others were written`()
        async throws
    {
        let (slow, rare, frequent) = (BluetoothUUID(0xA001), BluetoothUUID(0xA002), BluetoothUUID(0xA003))
        let text = """
            {"services": [{"uuid": "A000", "characteristics": [
                {"uuid": "A001", "properties": ["write", "indicate"], "value": "00"},
                {"uuid": "A002", "properties": ["write", "notify"], "value": "00"},
                {"uuid": "A003", "properties": ["write", "notify"], "value": "00"}]}]}
            """
        let file = try JSONDecoder().decode(DatabaseFile.self, from: Data(text.utf8))
        let database = try ServedDatabase(file, title: "test", access: .open)
        let device = LocalPeripheral(name: "Copy") { database.services }
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            try await database.live(server, ServeDiary(.nowhere))
        }
        try await Bench.run(description: device, centrals: 2, serve: serve) { bench in
            let configuration = try await Self.configuration(of: slow, bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.air.adapter(), to: address) { silent in
                // It never confirms, which ends its link after 30 s.
                let answer = await silent.ask([0x12] + configuration + [0x02, 0x00])
                #expect(answer == [0x13])
                try await bench.peripheral.withLink { link in
                    async let sent = link.notifications(of: rare).timeout(.seconds(90)).first()
                    try await bench.time.sleep(for: .seconds(5))
                    try await link.write([1], to: slow)
                    try await link.write([7], to: rare)
                    for number in 0..<70 as Range<UInt8> { try await link.write([number], to: frequent) }
                    #expect(silent.end == nil)
                    let value = try await sent
                    #expect(Array(value) == [7])
                }
            }
        }
    }
}
