import BLESimulator
import BLEStreams
import Testing

/// Values of the lengths at which something changes, over both halves and the air between them.
@Suite(.timeLimit(.minutes(10))) struct EdgeLengthTests {
    /// Around nothing, one PDU of the smallest MTU, a list's longest entry, one PDU of the largest MTU, and the
    /// longest.
    private static let lengths = [0, 1, 18, 19, 20, 21, 22, 23, 252, 253, 254, 255, 507, 508, 509, 511, 512]
    private static let value = BluetoothUUID(0xE001)

    private func withLink(mtu: Int, _ body: @escaping @Sendable (Link, Bench) async throws -> Void) async throws {
        let description = LocalPeripheral(name: "Edges") {
            LocalService(BluetoothUUID(0xE000)) {
                LocalCharacteristic(Self.value, [.read, .write, .notify, .indicate], value: .stored([]))
            }
        }
        try await Bench.run(description: description, centrals: 2) { server, _ in
            for try await write in server.writes(to: Self.value) {
                try await server.notify(write.value, of: Self.value)
            }
        } _: { bench in
            if mtu == 23 { bench.air.faults.add(.replace(.opcode(0x02), with: [0x02, 0x17, 0x00])) }
            if mtu == 23 { bench.air.faults.add(.replace(.opcode(0x03), with: [0x03, 0x17, 0x00])) }
            try await bench.peripheral.withLink { link in
                #expect(link.mtu == mtu)
                try await body(link, bench)
            }
        }
    }

    private static func octets(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 3 &+ 1) } }

    @Test(arguments: [23, 517])
    func `values of every edge length are written and read as they are`(mtu: Int) async throws {
        try await withLink(mtu: mtu) { link, _ in
            for length in Self.lengths {
                let octets = Self.octets(length)
                try await link.write(octets, to: Self.value)
                let read = try await link.read(Self.value)
                #expect(Array(read) == octets, "\(length) octets, MTU \(mtu)")
                let byType = try await link.readAll(Self.value)
                #expect(byType.map { Array($0.value) } == [octets], "\(length) octets by type, MTU \(mtu)")
                let database = try await link.discover()
                let handle = try #require(database.characteristic(Self.value)).valueHandle
                let several = try await link.read(handles: [handle, handle])
                #expect(several.map(Array.init) == [octets, octets], "\(length) octets twice, MTU \(mtu)")
            }
        }
    }

    @Test(arguments: [23, 517])
    func `a reliable write of every edge length arrives whole`(mtu: Int) async throws {
        try await withLink(mtu: mtu) { link, _ in
            for length in Self.lengths {
                try await link.write(Self.octets(length), to: Self.value, .reliable)
                let read = try await link.read(Self.value)
                #expect(Array(read) == Self.octets(length), "\(length) octets, MTU \(mtu)")
            }
        }
    }

    @Test(arguments: [23, 517])
    func `513 octets are refused on this side, and by the peer where they come nevertheless`(mtu: Int) async throws {
        try await withLink(mtu: mtu) { link, bench in
            let error = await bleError { try await link.write(Self.octets(513), to: Self.value) }
            #expect(error?.code == .overflow)
            let handle = try #require(try await link.discover().characteristic(Self.value)).valueHandle
            let name = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            try await RawCentral.connected(
                from: bench.air.adapter(),
                to: bench.peripheralAdapter.address
            ) { central in
                _ = await central.ask([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
                for offset in stride(from: 0, to: 513, by: mtu - 5) {
                    let part = Self.octets(513)[offset..<min(513, offset + mtu - 5)]
                    let place = [UInt8(offset & 0xFF), UInt8(offset >> 8)]
                    let answer = await central.ask([0x16] + name + place + part)
                    #expect(answer?.first == 0x17)
                }
                let refused = await central.ask([0x18, 0x01])
                #expect(refused == [0x01, 0x18] + name + [0x0D])
            }
            let untouched = try await link.read(Self.value)
            #expect(untouched.isEmpty)
        }
    }

    @Test(arguments: [23, 517])
    func `a notification carries MTU - 3 octets, and no more`(mtu: Int) async throws {
        try await withLink(mtu: mtu) { link, _ in
            let lengths = [0, 1, mtu - 4, mtu - 3, mtu].map { min($0, 512) }
            var received: [Int] = []
            // The value comes first; then each is written when the one before has come.
            for try await value in link.values(of: Self.value) {
                received.append(value.count)
                guard received.count <= lengths.count else { break }
                try await link.write(Self.octets(lengths[received.count - 1]), to: Self.value)
            }
            #expect(received == [0] + lengths.map { min($0, mtu - 3) })
        }
    }

    @Test(arguments: (0x01...0x13).map { UInt8($0) } + [0x80, 0x9F, 0xA0, 0xE0, 0xFC, 0xFD, 0xFE, 0xFF])
    func `every error code reaches the caller with its name`(code: UInt8) async throws {
        try await Bench.run { server, _ in
            for try await request in server.reads(of: Bench.dynamic) { request.reject(ATTError(rawValue: code)) }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { _ = try await link.read(Bench.dynamic) }
                #expect(error?.attError?.rawValue == code && error?.code == .attributeError)
                let name = try #require(error?.attError.map { "\($0)" })
                #expect(error?.cause.contains(name) == true)
                // The codes that the specification names have one; the rest say what they are.
                let isNamed = code <= 0x13 || code >= 0xFC
                #expect(name.hasPrefix("Unknown Error") == !(isNamed || (0x80...0x9F).contains(code)))
                // It concerned this request alone.
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
        }
    }
}
