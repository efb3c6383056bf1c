import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// An attribute value ends at 512 octets, however large the MTU is.
@Suite(.timeLimit(.minutes(10))) struct WriteLengthTests {
    private static let long = BluetoothUUID(0xE001)
    private static let serial = SerialService(
        BluetoothUUID(0xE000),
        incoming: BluetoothUUID(0xE002),
        outgoing: BluetoothUUID(0xE001)
    )
    private static let description = LocalPeripheral(name: "Long") {
        LocalService(BluetoothUUID(0xE000)) {
            LocalCharacteristic(long, [.read, .write, .writeWithoutResponse], value: .stored([]))
            LocalCharacteristic(BluetoothUUID(0xE002), [.notify])
        }
    }

    private func withLink(_ body: @escaping @Sendable (Link, Bench) async throws -> Void) async throws {
        try await Bench.run(description: Self.description) { bench in
            try await bench.peripheral.withLink { link in try await body(link, bench) }
        }
    }

    private func octets(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

    @Test(arguments: [513, 514, 515, 600])
    func `a write without response of more than 512 octets is refused before anything is sent`(
        count: Int
    ) async throws {
        try await withLink { link, bench in
            #expect(link.mtu == 517)
            let value = octets(count)
            // Before the services are known, and after; by UUID, as it was found, and by its handle.
            let before = bench.sent(by: .central).count
            let unknown = await bleError { try await link.write(value, to: Self.long, .withoutResponse) }
            #expect(unknown?.code == .overflow && unknown?.cause.contains("512") == true)
            #expect(bench.sent(by: .central).count == before)
            let found = try #require(try await link.discover().characteristic(Self.long))
            let discovered = bench.sent(by: .central).count
            for error in [
                await bleError { try await link.write(value, to: Self.long, .withoutResponse) },
                await bleError { try await link.write(value, to: found, .withoutResponse) },
                await bleError { try await link.write(value, to: .handle(found.valueHandle), .withoutResponse) },
                await bleError { try await link.write(value, to: Self.long) },
                await bleError { try await link.write(value, to: found, .reliable) },
                await bleError { try await link.write(value, to: .handle(found.valueHandle), .reliable) },
            ] { #expect(error?.code == .overflow) }
            #expect(bench.sent(by: .central).dropFirst(discovered).allSatisfy { $0.first == 0x12 || $0.first == 0x08 })
        }
    }

    @Test(arguments: [98, 99, 100, 103])
    func `a write without response that one PDU has no room for is refused before anything is sent`(
        count: Int
    ) async throws {
        try await Bench.run(description: Self.description) { bench in
            bench.air.faults.add(.replace(.opcode(0x03), with: [0x03, 0x64, 0x00]))
            try await bench.peripheral.withLink { link in
                #expect(link.mtu == 100)
                let found = try #require(try await link.discover().characteristic(Self.long))
                let discovered = bench.sent(by: .central).count
                let value = octets(count)
                for error in [
                    await bleError { try await link.write(value, to: found, .withoutResponse) },
                    await bleError { try await link.write(value, to: .handle(found.valueHandle), .withoutResponse) },
                ] { #expect(error?.code == .overflow && error?.cause.contains("97") == true) }
                #expect(bench.sent(by: .central).count == discovered)
                try await link.write(octets(97), to: found, .withoutResponse)
                try await link.expect(Self.long, reads: octets(97))
            }
        }
    }

    @Test func `512 octets are written in each way`() async throws {
        try await withLink { link, _ in
            let value = octets(512)
            for kind in [Link.WriteKind.withoutResponse, .withResponse, .reliable] {
                try await link.write([], to: Self.long)
                try await link.write(value, to: Self.long, kind)
                try await link.expect(Self.long, reads: value)
            }
        }
    }

    @Test func `the longest write is told, with and without response`() async throws {
        try await withLink { link, _ in
            #expect(link.maximumWriteLength(for: .withoutResponse) == 512)
            #expect(link.maximumWriteLength(for: .withResponse) == 512)
            #expect(link.maximumWriteLength(for: .reliable) == 512)
        }
        try await Bench.run { bench in
            bench.air.faults.add(.replace(.opcode(0x03), with: [0x03, 0x64, 0x00]))
            try await bench.peripheral.withLink { link in
                #expect(link.maximumWriteLength(for: .withoutResponse) == 97)
                #expect(link.maximumWriteLength(for: .withResponse) == 512)
            }
        }
    }

    @Test func `flows and serial lines send pieces of 512 octets`() async throws {
        try await withLink { link, bench in
            try await link.bytes(of: Self.serial).write(octets(1100))
            // Behind the last one that was written.
            _ = try await link.read(Self.long)
            let pieces = bench.sent(by: .central).filter { $0.first == 0x52 }.map { $0.count - 3 }
            #expect(pieces == [512, 512, 76])
        }
        try await Bench.run(description: Self.description) { bench in
            try await bench.peripheral.withQueue { queue in
                let length = try await queue.connecting().run(LongestWrite())
                #expect(length == 512)
            }
        }
    }

    private struct LongestWrite: Command {
        func run(in context: CommandContext) async throws -> Int { context.maximumWriteLength }
    }
}
