import BLESimulator
import BLEStreams
import Testing

/// Centrals that write, or subscribe, faster than the program takes it.
@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    private static let command = BluetoothUUID(0xF201)
    private static let stored = BluetoothUUID(0xF202)
    private static let values = BluetoothUUID(0xF203)
    private static let description = LocalPeripheral(name: "Busy") {
        LocalService(BluetoothUUID(0xF200)) {
            LocalCharacteristic(command, [.write, .writeWithoutResponse], value: .dynamic)
            LocalCharacteristic(stored, [.read, .write, .writeWithoutResponse], value: .stored([]))
            LocalCharacteristic(values, [.notify])
        }
    }

    /// What waits of one central at most.
    private static let share = 4096

    private static func octets(_ handle: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] }

    private static func handle(of uuid: BluetoothUUID, _ bench: Bench) async throws -> [UInt8] {
        try await bench.peripheral.withLink { link in
            octets(try #require(try await link.discover().characteristic(uuid)).valueHandle)
        }
    }

    @Test(arguments: [command, stored])
    func `one that floods the program loses its own writes, and nobody else's`(_ uuid: BluetoothUUID) async throws {
        let flood = 70_000
        let taken = Recorder<(central: BluetoothAddress, value: [UInt8])>()
        let counted = Recorder<Int>()
        let warnings = Recorder<BLEError>()
        let lost = Recorder<Int>()
        try await Bench.run(description: Self.description, centrals: 2, warnings: warnings) {
            server,
            bench in
            let writes = server.writes(to: uuid)
            var dropped = 0
            for try await write in writes.withGaps() {
                switch write {
                case .gap(let gap): dropped += gap.dropped
                case .value(let write):
                    if taken.all.isEmpty { try await bench.time.sleep(for: .seconds(3600)) }
                    write.accept()
                    taken.add((write.central.address, write.value))
                    guard write.value == [0xFF] else { continue }
                    counted.add(try #require(server.centrals.first { $0 != write.central }).droppedWrites)
                    counted.add(writes.counters.dropped)
                    lost.add(dropped)
                }
            }
        } _: { bench in
            let handle = try await Self.handle(of: uuid, bench)
            let address = bench.peripheralAdapter.address
            let other = bench.air.adapter()
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { flooding in
                try await flooding.flood(flood, bench.time) { [0x52] + handle + [UInt8($0 & 0x7F)] }
                // What its radio still had is on the other side now.
                try await bench.time.sleep(for: .seconds(60))
                try await RawCentral.connected(from: other, to: address) { calm in
                    for number in UInt8(0)..<20 { calm.send([0x52] + handle + [number]) }
                    calm.send([0x52] + handle + [0xFF])
                    while taken.all.last?.value != [0xFF] { try await bench.time.sleep(for: .seconds(60)) }
                    #expect(flooding.end == nil && calm.end == nil)
                }
            }
            let ofOther = taken.all.filter { $0.central == other.address }.map(\.value)
            #expect(ofOther == (UInt8(0)..<20).map { [$0] } + [[0xFF]])
            // One more than its share: the first one was taken before.
            let ofFlood = taken.all.count - ofOther.count
            #expect(ofFlood == Self.share + 1)
            #expect(counted.all == [flood - ofFlood, flood - ofFlood])
            #expect(lost.all == [flood - ofFlood])
            #expect(warnings.all.map(\.code) == [BLEError.Code](repeating: .overflow, count: 5))
            #expect(warnings.all.last?.cause.contains("10000 so far") == true)
            #expect(warnings.all.allSatisfy { $0.object.contains("\(bench.centralAdapter.address)") })
        }
    }

    @Test func `a request that finds no room is refused as such, and served again when there is room`() async throws {
        try await Bench.run(description: Self.description) { server, bench in
            var isFirst = true
            for try await write in server.writes(to: Self.command) {
                if isFirst { try await bench.time.sleep(for: .seconds(3600)) }
                isFirst = false
                write.accept()
            }
        } _: { bench in
            let handle = try await Self.handle(of: Self.command, bench)
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                try await central.flood(Self.share + 10, bench.time) { _ in [0x52] + handle }
                let refused = await central.ask([0x12] + handle + [1])
                #expect(refused == [0x01, 0x12] + handle + [0x11])
                try await bench.time.sleep(for: .seconds(3600))
                let taken = await central.ask([0x12] + handle + [1])
                #expect(taken == [0x13])
            }
        }
    }

    @Test func `one that subscribes and unsubscribes without end is disconnected, and nobody else is`() async throws {
        let warnings = Recorder<BLEError>()
        let changes = Recorder<BluetoothAddress>()
        try await Bench.run(description: Self.description, centrals: 2, warnings: warnings) {
            server,
            bench in
            for try await change in server.subscriptions() {
                if changes.all.isEmpty { try await bench.time.sleep(for: .seconds(3600)) }
                changes.add(change.central.address)
            }
        } _: { bench in
            let value = try await Self.handle(of: Self.values, bench)
            let handle = [value[0] + 1, value[1]]
            let address = bench.peripheralAdapter.address
            let other = bench.air.adapter()
            try await RawCentral.connected(from: other, to: address) { calm in
                try await RawCentral.connected(from: bench.centralAdapter, to: address) { flooding in
                    try await flooding.flood(Self.share + 100, bench.time) {
                        flooding.end == nil ? [0x52] + handle + [UInt8($0 & 1), 0] : [0x52]
                    }
                    try await bench.time.sleep(for: .seconds(10))
                    #expect(flooding.end?.kind == .closedByPeer)
                }
                let answer = await calm.ask([0x12] + handle + [1, 0])
                #expect(answer == [0x13])
                try await bench.time.sleep(for: .seconds(7200))
                #expect(changes.all.last == other.address)
            }
            #expect(warnings.all.map(\.code) == [.overflow])
        }
    }
}
