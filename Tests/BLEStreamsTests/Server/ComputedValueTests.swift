import BLESimulator
import BLEStreams
import Testing

/// Values that closures compute, for the central that asks.
@Suite(.timeLimit(.minutes(10))) struct ComputedValueTests {
    private static let value = BluetoothUUID(0xF401)
    private static let other = BluetoothUUID(0xF402)

    private struct Broken: Error {
        let secret = "0102030405060708"
    }

    private static func peripheral(
        _ read: @escaping @Sendable (ConnectedCentral) async throws -> [UInt8],
        write: (@Sendable ([UInt8], ConnectedCentral) async throws -> Void)? = nil
    ) -> LocalPeripheral {
        LocalPeripheral(name: "Computer") {
            LocalService(BluetoothUUID(0xF400)) {
                LocalCharacteristic(value, [.read, .write], maximumLength: 100, read: read, write: write)
                LocalCharacteristic(other, [.read], value: .stored([7]))
            }
        }
    }

    private static func handle(_ bench: Bench) async throws -> [UInt8] {
        try await bench.peripheral.withLink { link in
            let handle = try #require(try await link.discover().characteristic(value)).valueHandle
            return [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        }
    }

    @Test func `each of two centrals is answered for itself`() async throws {
        let peripheral = Self.peripheral { central in Array("\(central.address)".utf8) }
        try await Bench.run(description: peripheral, centrals: 2) { bench in
            let adapter = bench.air.adapter()
            let second = try await Central.open(.radio(adapter)).peripheral(bench.peripheralAdapter.address)
            try await bench.peripheral.withLink { first in
                try await second.withLink { second in
                    try await first.expect(Self.value, reads: Array("\(bench.centralAdapter.address)".utf8))
                    try await second.expect(Self.value, reads: Array("\(adapter.address)".utf8))
                }
            }
        }
    }

    @Test func `the parts of a long value are of one, and the next reading has another one`() async throws {
        let calls = Recorder<Int>()
        let peripheral = Self.peripheral { _ in
            calls.add(0)
            return [UInt8](repeating: UInt8(calls.all.count), count: 50)
        } write: { _, _ in
        }
        try await Bench.run(description: peripheral) { bench in
            let handle = try await Self.handle(bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                func part(_ offset: UInt8) async -> [UInt8]? { await central.ask([0x0C] + handle + [offset, 0]) }
                func octets(_ number: UInt8, _ count: Int) -> [UInt8] { .init(repeating: number, count: count) }
                for number in UInt8(1)...2 {
                    #expect(await central.ask([0x0A] + handle) == [0x0B] + octets(number, 22))
                    #expect(await part(22) == [0x0D] + octets(number, 22))
                    #expect(await part(44) == [0x0D] + octets(number, 6))
                }
                // A part of a reading that is over, one that has waited too long, and one after a write.
                #expect(await part(22) == [0x0D] + octets(3, 22))
                try await bench.time.sleep(for: .seconds(31))
                #expect(await part(44) == [0x0D] + octets(4, 6))
                #expect(await part(22) == [0x0D] + octets(5, 22))
                #expect(await central.ask([0x12] + handle + [1]) == [0x13])
                #expect(await part(44) == [0x0D] + octets(6, 6))
                #expect(await part(51) == [0x01, 0x0C] + handle + [0x07])
            }
        }
    }

    @Test(arguments: [19, 20, 22, 50])
    func `the rest of a value that is read by its type is of the same one`(count: Int) async throws {
        let calls = Recorder<Int>()
        let peripheral = Self.peripheral { _ in
            calls.add(0)
            return [UInt8](repeating: UInt8(calls.all.count), count: count)
        }
        try await Bench.run(description: peripheral) { bench in
            let handle = try await Self.handle(bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                func octets(_ number: UInt8, _ count: Int) -> [UInt8] { .init(repeating: number, count: count) }
                for number in UInt8(1)...2 {
                    // An entry of the answer has room for 19 octets.
                    let found = await central.ask([0x08, 1, 0, 0xFF, 0xFF, 0x01, 0xF4])
                    #expect(found == [0x09, 21] + handle + octets(number, 19))
                    let rest = await central.ask([0x0C] + handle + [19, 0])
                    #expect(rest == [0x0D] + octets(number, min(count - 19, 22)))
                }
            }
        }
    }

    @Test func `what a closure throws reaches the central as a code, and the program by its type`() async throws {
        let warnings = Recorder<BLEError>()
        let calls = Recorder<Int>()
        let peripheral = Self.peripheral { _ in
            calls.add(0)
            switch calls.all.count {
            case 1: throw ATTError(rawValue: 0x81)
            case 2: throw Broken()
            default: return [UInt8](repeating: 0, count: 101)
            }
        }
        try await Bench.run(description: peripheral, warnings: warnings) { bench in
            try await bench.peripheral.withLink { link in
                for code in [0x81, 0x0E, 0x0E] as [UInt8] {
                    let error = await bleError { _ = try await link.read(Self.value) }
                    #expect(error?.attError == ATTError(rawValue: code))
                }
                try await link.expect(Self.other, reads: [7])
            }
        }
        // Of what goes on the first one is told.
        #expect(warnings.all.map(\.operation) == ["read"])
        #expect(warnings.all[0].cause.contains("Broken") && !"\(warnings.all[0])".contains("0102"))
    }

    @Test func `one that hangs keeps no other central waiting, and ends when its own leaves`() async throws {
        let times = Recorder<VirtualTime>()
        let cancelled = Recorder<Duration>()
        let hanging = Recorder<Int>()
        let warnings = Recorder<BLEError>()
        let peripheral = Self.peripheral { _ in
            guard hanging.all.isEmpty else { return [2] }
            hanging.add(1)
            do {
                try await times.all[0].sleep(for: .seconds(3600))
            } catch {
                cancelled.add(times.all[0].now)
                throw error
            }
            return [1]
        }
        try await Bench.run(description: peripheral, centrals: 2, warnings: warnings) { server, bench in
            times.add(bench.time)
            for try await _ in server.centralEvents {}
        } _: { bench in
            let handle = try await Self.handle(bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.air.adapter(), to: address) { stuck in
                stuck.send([0x0A] + handle)
                try await bench.time.sleep(for: .seconds(1))
                #expect(hanging.all.count == 1)
                let begin = bench.time.now
                try await bench.peripheral.withLink { try await $0.expect(Self.value, reads: [2]) }
                #expect(bench.time.now - begin < .seconds(5) && cancelled.all.isEmpty)
            }
            try await bench.time.sleep(for: .seconds(1))
            #expect(cancelled.all.count == 1)
            #expect(cancelled.all.allSatisfy { $0 < .seconds(15) } && warnings.all.isEmpty)
        }
    }

    @Test func `one that is too slow is cancelled after 20 s, and the central refused`() async throws {
        let times = Recorder<VirtualTime>()
        let warnings = Recorder<BLEError>()
        let cancelled = Flag()
        let peripheral = Self.peripheral { _ in
            do { try await times.all[0].sleep(for: .seconds(3600)) } catch { cancelled.set() }
            return [1]
        }
        try await Bench.run(description: peripheral, warnings: warnings) { server, bench in
            times.add(bench.time)
            for try await _ in server.centralEvents {}
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let begin = bench.time.now
                let error = await bleError { _ = try await link.read(Self.value) }
                #expect(error?.attError == .unlikely)
                #expect((Duration.seconds(20)...(.seconds(21))).contains(bench.time.now - begin))
                try await link.expect(Self.other, reads: [7])
                #expect(cancelled.isSet && warnings.all.map(\.code) == [.timedOut])
            }
        }
    }

    @Test func `a part that is written lies over what the closure reads`() async throws {
        let written = Recorder<[UInt8]>()
        let peripheral = Self.peripheral({ _ in [1, 2, 3, 4] }, write: { value, _ in written.add(value) })
        try await Bench.run(description: peripheral) { bench in
            let handle = try await Self.handle(bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                #expect(await central.ask([0x16] + handle + [2, 0, 9]) == [0x17] + handle + [2, 0, 9])
                #expect(await central.ask([0x18, 1]) == [0x19])
                #expect(await central.ask([0x16] + handle + [5, 0, 9]) == [0x17] + handle + [5, 0, 9])
                #expect(await central.ask([0x18, 1]) == [0x01, 0x18] + handle + [0x07])
            }
        }
        #expect(written.all == [[1, 2, 9, 4]])
    }
}
