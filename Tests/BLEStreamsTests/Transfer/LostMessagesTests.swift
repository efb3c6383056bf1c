import BLESimulator
import BLEStreams
import Testing

/// Messages that the receiver loses with a warning: their senders must not take them for delivered.
@Suite(.timeLimit(.minutes(10))) struct LostMessagesTests {
    private static let mark = Array("EOM".utf8)

    @Test func `the last chunk of a message is not accepted for an iteration that lacks the beginning`() async throws {
        let taken = Recorder<[UInt8]>()
        try await Bench.run(description: MessageBench.description, serve: MessageBench.taking(taken)) { bench in
            // What its central was told of the last chunk.
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.write([1, 1], to: MessageBench.inbound)
                    try await bench.time.sleep(for: .seconds(15))
                    try await link.write(Self.mark, to: MessageBench.inbound)
                    Issue.record("a message that is lost counts as delivered")
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all.isEmpty)
    }

    @Test func `a message that is too long is not accepted, though all of it is in one chunk`() async throws {
        let taken = Recorder<[UInt8]>()
        try await Bench.run(description: MessageBench.description) { server, _ in
            let messages = server.messages(
                to: MessageBench.inbound,
                endingWith: .lengthPrefix(octets: 2),
                maximumSize: 10
            )
            for try await message in messages { taken.add(message.octets) }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    let message = [UInt8](repeating: 1, count: 15)
                    try await link.send(message, to: MessageBench.inbound, endingWith: .lengthPrefix(octets: 2))
                    Issue.record("a message that is lost counts as delivered")
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all.isEmpty)
    }

    @Test func `what follows a chunk without response that nobody heard between two iterations is no whole message`()
        async throws
    {
        let taken = Recorder<[UInt8]>()
        let warnings = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, warnings: warnings) { server, bench in
            while true {
                taken.add(try await server.messages(to: MessageBench.inbound).first().octets)
                try await bench.time.sleep(for: .seconds(10))
            }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.send([1], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(5))
                    try await link.write([2, 2], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(10))
                    try await link.send([3, 3], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(1))
                    _ = try await link.read(MessageBench.inbound)
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all == [[1]])
        #expect(warnings.all.contains { $0.cause.contains("before one was complete or taken") })
    }
}
