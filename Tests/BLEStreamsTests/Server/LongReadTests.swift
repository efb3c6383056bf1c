import BLESimulator
import BLEStreams
import Testing

/// Long values with which the program answers the requests of a stream, read in parts.
@Suite(.timeLimit(.minutes(10))) struct LongReadTests {
    @Test func `the parts of a long value are of one answer, and the next reading is a request again`() async throws {
        let asked = Recorder<Int>()
        try await Bench.run { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await read in server.reads(of: Bench.dynamic) {
                        asked.add(0)
                        try read.respond([UInt8](repeating: UInt8(asked.all.count), count: 50))
                    }
                }
                group.addTask {
                    for try await write in server.writes(to: Bench.dynamic) { write.accept() }
                }
                try await group.waitForAll()
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                let found = try #require(try await link.discover().characteristic(Bench.dynamic)).valueHandle
                return [UInt8(truncatingIfNeeded: found), UInt8(found >> 8)]
            }
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                func part(_ offset: UInt8) async -> [UInt8]? { await central.ask([0x0C] + handle + [offset, 0]) }
                func octets(_ number: UInt8, _ count: Int) -> [UInt8] { .init(repeating: number, count: count) }
                for number in UInt8(1)...2 {
                    #expect(await central.ask([0x0A] + handle) == [0x0B] + octets(number, 22))
                    #expect(await part(22) == [0x0D] + octets(number, 22))
                    #expect(await part(44) == [0x0D] + octets(number, 6))
                }
                // One after a write, and one that has waited too long.
                #expect(await central.ask([0x0A] + handle) == [0x0B] + octets(3, 22))
                #expect(await central.ask([0x12] + handle + [1]) == [0x13])
                #expect(await part(22) == [0x0D] + octets(4, 22))
                try await bench.time.sleep(for: .seconds(31))
                #expect(await part(44) == [0x0D] + octets(5, 6))
            }
        }
        #expect(asked.all.count == 5)
    }
}
