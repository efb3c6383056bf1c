import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// A serial line to a peripheral that repeats what is written to it.
@Suite(.timeLimit(.minutes(10))) struct LinkBytesTests {
    private static let line = SerialService.nordicUART

    private static func device(_ writing: Characteristic.Properties) -> LocalPeripheral {
        LocalPeripheral(name: "Echo") {
            LocalService(line.service) {
                LocalCharacteristic(line.outgoing, writing, value: .dynamic)
                LocalCharacteristic(line.incoming, [.notify])
            }
        }
    }

    @Sendable private static func echo(_ server: PeripheralServer, _ bench: Bench) async throws {
        for try await write in server.writes(to: line.outgoing) {
            write.accept()
            try await server.notify(write.value, of: line.incoming, to: write.central)
        }
    }

    @Test(arguments: [.writeWithoutResponse, .write, [.write, .writeWithoutResponse]] as [Characteristic.Properties])
    func `what is written comes back whole, whatever its length`(writing: Characteristic.Properties) async throws {
        let octets = (0..<3000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        try await Bench.run(description: Self.device(writing), serve: Self.echo) { bench in
            try await bench.peripheral.withLink { link in
                let line = link.bytes(of: Self.line)
                async let returned = line.incoming.collect(octets.count)
                // The subscription comes first: the echo of what is written before it nobody hears.
                _ = try await link.discover()
                while bench.writes.isEmpty { try await bench.time.sleep(for: .seconds(1)) }
                try await line.write(octets)
                #expect(try await returned == octets)
                let isCommand = writing.contains(.writeWithoutResponse)
                let writes = bench.sent(by: .central).filter { $0.first == (isCommand ? 0x52 : 0x12) && $0.count > 5 }
                // A value has 512 octets at most, whatever the MTU.
                #expect(link.mtu == 517 && writes.map(\.count).max() == 515)
                #expect(writes.count == 6)
            }
        }
    }

    @Test func `the line itself is a sequence of octets, and its end switches notifications off`() async throws {
        try await Bench.run(description: Self.device([.write]), serve: Self.echo) { bench in
            try await bench.peripheral.withLink { link in
                let line = link.bytes(of: Self.line)
                async let text = Self.text(upTo: ">", from: line)
                while bench.writes.isEmpty { try await bench.time.sleep(for: .seconds(1)) }
                try await line.write("hello>".utf8)
                #expect(try await text == "hello>")
            }
            #expect(bench.writes.filter { $0.count == 2 } == [[1, 0], [0, 0]])
        }
    }

    private static func text(upTo mark: Character, from line: LinkBytes) async throws -> String {
        var octets: [UInt8] = []
        for try await octet in line {
            octets.append(octet)
            if octet == mark.asciiValue { break }
        }
        return String(decoding: octets, as: UTF8.self)
    }

    @Test func `a peripheral without the service says so, in both directions`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let line = link.bytes(of: Self.line)
                let reading = await bleError { _ = try await line.incoming.first() }
                #expect(reading?.code == .notFound)
                let writing = await bleError { try await line.write([1]) }
                #expect(writing?.code == .notFound)
            }
        }
    }

    @Test func `nothing to write is nothing sent`() async throws {
        try await Bench.run(description: Self.device([.write]), serve: Self.echo) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                let before = bench.sent(by: .central).count
                try await link.bytes(of: Self.line).write([])
                #expect(bench.sent(by: .central).count == before)
            }
        }
    }

    @Test func `what waits for its turn while the services change is written where the line is then`() async throws {
        let written = Recorder<[UInt8]>()
        try await Bench.run(description: Self.device(.write)) { server, bench in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    for try await write in server.writes(to: Self.line.outgoing) {
                        write.accept()
                        written.add(write.value)
                    }
                }
                try await bench.time.sleep(for: .seconds(10))
                let more = LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([1]))
                let line = Self.device(.write).services[0].characteristics
                try server.replaceServices([LocalService(Self.line.service, characteristics: [more] + line)])
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                try await bench.time.sleep(for: .seconds(9))
                // The write behind it waits until the services have changed.
                bench.air.faults.add(.delay(.readResponses, by: .seconds(2)).times(1))
                async let name = link.read(BluetoothUUID(0x2A00))
                try await bench.time.sleep(for: .milliseconds(100))
                try await link.bytes(of: Self.line).write("AT\r\n".utf8)
                #expect(bench.time.now > .seconds(11))
                _ = try await name
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(written.all == [Array("AT\r\n".utf8)])
    }
}
