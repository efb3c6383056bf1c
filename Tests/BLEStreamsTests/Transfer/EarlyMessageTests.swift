import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Chunks that a peripheral sends before this program has subscribed.
@Suite(.timeLimit(.minutes(10))) struct EarlyMessageTests {
    private static func run(isResumed: Bool, _ body: @escaping @Sendable (Link) async throws -> Void) async throws {
        try await Bench.run { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Bench.notifying)).valueHandle
            }
            let place = [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            let early = ["rest", "EOM"].map { text -> [UInt8] in [0x1B] + place + Array(text.utf8) }
            let radio = EagerRadio(radio: bench.centralAdapter, time: bench.time, early: early, isResumed: isResumed)
            let central = try await Central.open(.radio(radio))
            try await central.peripheral(bench.peripheralAdapter.address).withLink { try await body($0) }
        }
    }

    @Test func `a message that a bonded peripheral sends at once is for the first consumer`() async throws {
        try await Self.run(isResumed: false) { link in
            let message = try await link.notifications(of: Bench.notifying).assembled(until: .endOfMessage()).first()
            #expect(message == Array("rest".utf8))
        }
    }

    @Test func `on a link that is taken over, the rest of a message is not taken for a whole one`() async throws {
        try await Self.run(isResumed: true) { link in
            let chunks = link.notifications(of: Bench.notifying)
            let error = await bleError { _ = try await chunks.assembled(until: .endOfMessage()).first() }
            #expect(error?.code == .overflow)
            #expect(error?.cause.contains("or an earlier program had the link") == true)
        }
    }

    @Test func `on a link that is taken over, values that are whole by themselves are delivered`() async throws {
        try await Self.run(isResumed: true) { link in
            var values: [[UInt8]] = []
            for try await value in link.notifications(of: Bench.notifying).prefix(2) { values.append(Array(value)) }
            #expect(values == [Array("rest".utf8), Array("EOM".utf8)])
        }
    }
}
