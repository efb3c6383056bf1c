import BLESimulator
import BLEStreams
import Testing

/// A peripheral that takes writes without response slowly: the radio takes 243 of them ahead, and tells of room when it
/// has sent half of these.
@Suite(.timeLimit(.minutes(10))) struct SlowPeripheralTests {
    /// One PDU a second.
    private static let lazy = AdapterSettings(
        linkTiming: LinkTiming(connectionInterval: .seconds(1), packetsPerEvent: 1, supervisionTimeout: .seconds(30)),
        sendBufferSize: 56_000
    )
    private static let limit = Duration.seconds(5)

    /// The numbers that were written, and the error that ended this, if any.
    private struct Outcome {
        var written: [[UInt8]] = []
        var error: BLEError?
    }

    /// Writes numbers one after the other, each within the limit, until one fails.
    private func write(_ count: Int, over link: Link) async throws -> Outcome {
        var outcome = Outcome()
        do {
            for number in 0..<UInt32(count) {
                try await link.write(number.octets, to: Bench.readable, .withoutResponse, timeout: Self.limit)
                outcome.written.append(number.octets)
            }
        } catch let error as BLEError {
            outcome.error = error
        }
        return outcome
    }

    /// Runs the body with a link of an adapter that sends a PDU a second.
    private func run(_ body: @escaping @Sendable (Link, SimulatedAdapter, Bench) async throws -> Void) async throws {
        try await Bench.run { bench in
            let adapter = bench.air.adapter(settings: Self.lazy)
            let central = try await Central.open(.radio(adapter))
            try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                _ = try await link.discover()
                // A request behind so many writes would be answered too late.
                try await bench.time.sleep(for: .seconds(30))
                bench.air.clearTrace()
                try await body(link, adapter, bench)
            }
        }
    }

    /// The values of Write Commands.
    private func commands(_ bench: Bench) -> [[UInt8]] {
        bench.sent(by: .central).filter { $0.first == 0x52 }.map { Array($0.dropFirst(3)) }
    }

    @Test func `each goes out within its limit, though the radio has yet to tell of room`() async throws {
        try await run { link, _, bench in
            let outcome = try await write(300, over: link)
            #expect(outcome.error == nil)
            try await bench.time.sleep(for: .seconds(400))
            #expect(commands(bench) == (0..<300).map { UInt32($0).octets })
        }
    }

    @Test func `where the radio takes nothing the error says so, and the value is never sent`() async throws {
        try await run { link, adapter, bench in
            bench.air.faults.add(.outOfRange(lasting: .seconds(20)), on: adapter)
            let outcome = try await write(300, over: link)
            let error = try #require(outcome.error)
            #expect(error.code == .timedOut && error.cause == "the radio did not take it within 5.0 seconds")
            #expect(error.elapsed == Self.limit)
            // The end is a phrase that `ble` and the gateway reword.
            #expect(error.remedy.hasPrefix("Write less often") && error.remedy.hasSuffix(", or allow more time."))
            try await bench.time.sleep(for: .seconds(400))
            #expect(commands(bench) == outcome.written)
        }
    }
}
