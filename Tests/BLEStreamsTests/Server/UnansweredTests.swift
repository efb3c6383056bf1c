import BLESimulator
import BLEStreams
import Foundation
import Testing

/// Requests that the program doesn't answer: the central hears of which handle, the program of what to do.
@Suite(.timeLimit(.minutes(10))) struct UnansweredTests {
    private static func handle(_ bench: Bench) async throws -> [UInt8] {
        try await bench.peripheral.withLink { link in
            let handle = try #require(try await link.discover().characteristic(Bench.dynamic)).valueHandle
            return [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        }
    }

    @Test func `where nobody iterates, the refusal names the handle and the program is told`() async throws {
        let warnings = Recorder<BLEError>()
        try await Bench.run(warnings: warnings) { server, bench in
            try await bench.time.sleep(for: .seconds(3600))
        } _: { bench in
            let handle = try await Self.handle(bench)
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                for _ in 0..<10 {
                    let read = await central.ask([0x0A] + handle)
                    #expect(read == [0x01, 0x0A] + handle + [0x0E])
                    let write = await central.ask([0x12] + handle + [1])
                    #expect(write == [0x01, 0x12] + handle + [0x0E])
                }
            }
            // The first time and the tenth, each.
            #expect(warnings.all.map(\.operation) == ["read", "write", "read", "write"])
            let text = "0x" + String(format: "%02X%02X", handle[1], handle[0])
            for warning in warnings.all {
                #expect(warning.code == .notSupported && warning.cause.contains("does not iterate"))
                #expect(warning.object.contains("A006") && warning.object.contains(text))
                #expect(warning.object.contains("\(bench.centralAdapter.address)"))
            }
            #expect(warnings.all[0].cause.contains("reads(of:)") && warnings.all[1].cause.contains("writes(to:)"))
        }
    }

    @Test func `a request that is let go, or that takes too long, is refused by name, and told`() async throws {
        let warnings = Recorder<BLEError>()
        let kept = Recorder<PeripheralServer.ReadRequest>()
        try await Bench.run(warnings: warnings) { server, _ in
            var isFirst = true
            for try await read in server.reads() {
                if !isFirst { kept.add(read) }
                isFirst = false
            }
        } _: { bench in
            let handle = try await Self.handle(bench)
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                let begin = bench.time.now
                #expect(await central.ask([0x0A] + handle) == [0x01, 0x0A] + handle + [0x0E])
                #expect(bench.time.now - begin < .seconds(1))
                #expect(warnings.all.map(\.code) == [.ended])
                #expect(await central.ask([0x0A] + handle) == [0x01, 0x0A] + handle + [0x0E])
                #expect((Duration.seconds(20)...(.seconds(21))).contains(bench.time.now - begin))
            }
        }
    }
}
