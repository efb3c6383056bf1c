import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Closures for values in the middle of what ends them, replaces them, or asks more of them than they do.
@Suite(.timeLimit(.minutes(10))) struct ClosureEndingTests {
    private static let value = BluetoothUUID(0xF501)
    private static let calm = BluetoothUUID(0xF502)
    /// How many calls of a closure take too long.
    private static let hanging = 100
    /// Nothing comes of it.
    private static let never = BLEStream<[UInt8]> { _ in {} }

    private static func services(
        read: @escaping @Sendable (ConnectedCentral) async throws -> [UInt8],
        write: (@Sendable ([UInt8], ConnectedCentral) async throws -> Void)? = nil
    ) -> [LocalService] {
        [
            LocalService(BluetoothUUID(0xF500)) {
                LocalCharacteristic(value, [.read, .write, .writeWithoutResponse], read: read, write: write)
                LocalCharacteristic(calm, [.read], value: .stored([7]))
            }
        ]
    }

    @Test func `a server that ends cancels what it computes, and waits for nobody`() async throws {
        let isAsked = Flag()
        let ends = Recorder<Bool>()
        let error = Recorder<BLEError>()
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let radio = air.adapter()
            let device = try await Central.open(.radio(air.adapter())).peripheral(radio.address)
            let peripheral = LocalPeripheral(name: "Ending") {
                Self.services { _ in
                    isAsked.set()
                    do {
                        try await time.sleep(for: .seconds(3600))
                    } catch {
                        ends.add(error is CancellationError)
                        throw error
                    }
                    return [1]
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let refusal = await bleError {
                        try await device.withLink { link in _ = try await link.read(Self.value) }
                    }
                    if let refusal { error.add(refusal) }
                }
                try await peripheral.run(on: radio) { _ in
                    while !isAsked.isSet { try await time.sleep(for: .milliseconds(10)) }
                }
                #expect(time.now < .seconds(30))
                try await group.waitForAll()
            }
            #expect(radio.activity.isIdle)
        }
        #expect(ends.all == [true])
        // Refused before the link goes down.
        #expect(error.all.map(\.code) == [.attributeError])
    }

    @Test func `services that are replaced amid a reading answer from then on, and it is answered`() async throws {
        let isAsked = Flag()
        let peripheral = LocalPeripheral(name: "Replaced") {
            Self.services { _ in
                isAsked.set()
                return try await Self.never.first()
            }
        }
        let isReplaced = Flag()
        try await Bench.run(description: peripheral) { server, bench in
            while !isAsked.isSet { try await bench.time.sleep(for: .milliseconds(10)) }
            // Described alike, so its handles stay: only what answers is another one.
            try server.replaceServices(Self.services { _ in [2] })
            isReplaced.set()
            for try await _ in server.centralEvents {}
        } _: { bench in
            try await bench.peripheral.withLink { link in
                // Refused when the old closure's 20 s are over, and the link stands.
                let error = await bleError { _ = try await link.read(Self.value) }
                #expect(isReplaced.isSet && error?.attError != nil)
                try await link.expect(Self.value, reads: [2])
                try await link.expect(Self.calm, reads: [7])
            }
        }
    }

    /// A read, a write, and a write without response.
    @Test(arguments: [0x0A, 0x12, 0x52] as [UInt8])
    func `the warning of one that is too slow says what a closure can do`(opcode: UInt8) async throws {
        let warnings = Recorder<BLEError>()
        let peripheral = LocalPeripheral(name: "Slow") {
            Self.services { _ in
                try await Self.never.first()
            } write: { _, _ in
                _ = try await Self.never.first()
            }
        }
        try await Bench.run(description: peripheral, warnings: warnings) { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Self.value)).valueHandle
            }
            let request = [opcode, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                central.send(opcode == 0x0A ? request : request + [1])
                try await bench.time.sleep(for: .seconds(25))
            }
        }
        #expect(warnings.all.map(\.code) == [.timedOut])
        let warning = try #require(warnings.all.first)
        #expect(warning.cause.contains("closure"))
        // Those are for who iterates reads() and writes().
        #expect(warning.remedy.contains("ATTError") && !warning.remedy.contains("accept()"))
    }

    @Test func `what a central writes on its next link is judged behind what it wrote on the former one`() async throws
    {
        let judged = Recorder<UInt8>()
        let stored = Recorder<[UInt8]?>()
        let clock = Recorder<VirtualTime>()
        let peripheral = LocalPeripheral(name: "Returning") {
            LocalService(BluetoothUUID(0xF500)) {
                LocalCharacteristic(Self.value, [.write, .writeWithoutResponse], value: .stored([0])) { octets, _ in
                    if octets == [1] { try await clock.all[0].sleep(for: .seconds(5)) }
                    judged.add(octets[0])
                }
            }
        }
        try await Bench.run(description: peripheral) { server, bench in
            clock.add(bench.time)
            for try await event in server.centralEvents {
                if case .disconnected = event { stored.add(server.value(of: Self.value)) }
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Self.value)).valueHandle
            }
            let name = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                central.send([0x52] + name + [1])
                try await bench.time.sleep(for: .seconds(1))
            }
            try await bench.time.sleep(for: .seconds(1))
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                let answer = await central.ask([0x12] + name + [2])
                #expect(answer == [0x13])
                try await bench.time.sleep(for: .seconds(10))
            }
            try await bench.time.sleep(for: .seconds(1))
        }
        #expect(judged.all == [1, 2])
        // The first link discovered, and the second one left before its write was judged.
        #expect(stored.all == [[0], [0], [2]])
    }

    @Test
    func `writes without response that wait for a slow closure when their central has left are not lost silently`()
        async throws
    {
        let taken = Recorder<UInt8>()
        let warnings = Recorder<BLEError>()
        let clock = Recorder<VirtualTime>()
        let peripheral = LocalPeripheral(name: "Leaving") {
            Self.services { _ in
                []
            } write: { octets, _ in
                try await clock.all[0].sleep(for: .seconds(3))
                taken.add(octets[0])
            }
        }
        try await Bench.run(description: peripheral, warnings: warnings) { server, bench in
            clock.add(bench.time)
            for try await _ in server.centralEvents {}
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Self.value)).valueHandle
            }
            let head: [UInt8] = [0x52, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                for number in 0..<10 as Range<UInt8> { central.send(head + [number]) }
                try await bench.time.sleep(for: .seconds(1))
            }
            try await bench.time.sleep(for: .seconds(60))
        }
        #expect(taken.all == Array(0..<6))
        #expect(warnings.all.map(\.code) == [.timedOut])
        #expect(warnings.all.first?.cause.contains("4 writes without response") == true)
    }

    @Test func `one that floods a closure loses its own writes, and nobody else's reading waits`() async throws {
        let taken = Recorder<UInt8>()
        let warnings = Recorder<BLEError>()
        let dropped = Recorder<Int>()
        let isFlooded = Flag()
        let clock = Recorder<VirtualTime>()
        let calls = Recorder<Void>()
        let peripheral = LocalPeripheral(name: "Flooded") {
            Self.services { _ in
                [3]
            } write: { octets, _ in
                calls.add(())
                if calls.all.count <= Self.hanging { try await clock.all[0].sleep(for: .seconds(3600)) }
                taken.add(octets[0])
            }
        }
        try await Bench.run(description: peripheral, centrals: 2, warnings: warnings) { server, bench in
            clock.add(bench.time)
            while !isFlooded.isSet { try await bench.time.sleep(for: .seconds(1)) }
            dropped.add(server.centrals.map(\.droppedWrites).max() ?? 0)
            for try await _ in server.centralEvents {}
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Self.value)).valueHandle
            }
            let head: [UInt8] = [0x52, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            let second = try await Central.open(.radio(bench.air.adapter())).peripheral(bench.peripheralAdapter.address)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { flooding in
                try await flooding.flood(6000, bench.time) { head + [UInt8($0 % 251)] }
                try await second.withLink { link in try await link.expect(Self.value, reads: [3]) }
                // Each that hangs has its 20 s.
                try await bench.time.sleep(for: .seconds(7200))
                isFlooded.set()
                try await bench.time.sleep(for: .seconds(5))
                #expect(flooding.end == nil)
            }
        }
        #expect(dropped.all.count == 1 && dropped.all[0] > 0)
        #expect(taken.all.count + Self.hanging + dropped.all[0] == 6000)
        #expect(warnings.all.contains { $0.code == .overflow })
    }
}
