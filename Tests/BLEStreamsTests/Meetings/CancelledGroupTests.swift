import BLESimulator
import BLEStreams
import Testing

/// A composite command of a session that waits for the link, which the flow of another session has for itself.
@Suite(.timeLimit(.minutes(10))) struct CancelledGroupTests {
    /// Reads for about ten seconds.
    private static func log(_ reads: Recorder<Int>, _ time: VirtualTime) -> CommandBlock<Void> {
        CommandBlock("log") { context in
            for number in 0..<40 {
                let value = try await context.read(Bench.readable)
                #expect(value.bytes == [1, 2, 3])
                reads.add(number)
                try await time.sleep(for: .milliseconds(150))
            }
        }
    }

    private static func links(_ bench: Bench) -> Int {
        bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
    }

    /// It waits for the link, or is in the pause of a retry, when it is cancelled.
    @Test(arguments: 0..<20)
    func `a group of retried, timed commands that is cancelled behind another session's flow leaves it alone`(
        fifths: Int
    ) async throws {
        try await Bench.run(seed: UInt64(fifths), serve: DecoratorTests.guarded) { bench in
            let plan = Session.Plan(bench.peripheral)
            try await bench.central.withSession(plan) { flowing in
                try await flowing.ready()
                try await bench.central.withSession(plan) { other in
                    try await other.ready()
                    let reads = Recorder<Int>()
                    async let flow: Void = flowing.queue.run(Self.log(reads, bench.time))
                    try await bench.time.sleep(for: .milliseconds(500))
                    #expect(!reads.all.isEmpty)
                    let queue = other.queue.connecting(timeout: .seconds(1))
                        .authorizing { try await $0.write(DecoratorTests.key, to: Bench.dynamic) }
                    let read = CommandBlock("read") { _ = try await $0.read(Bench.dynamic) }
                        .timeout(.seconds(2)).retry(.constant(.milliseconds(300), attempts: 40))
                    let composite = CommandBlock<Void>.group("both", read, read)
                        .retry(.constant(.milliseconds(500), attempts: 5)).timeout(.seconds(60))
                    let first = queue.enqueue(composite)
                    try await bench.time.sleep(for: .milliseconds(200 * fifths))
                    first.cancel()
                    let before = bench.time.now
                    await #expect(throws: CancellationError.self) { try await first.value }
                    #expect(bench.time.now - before < .milliseconds(100) && reads.all.count < 40)
                    // The next one comes behind the flow, which has lost nothing.
                    let secret = try await queue.run(
                        .read(Bench.dynamic).retry(.constant(.milliseconds(300), attempts: 40))
                    )
                    #expect(secret.bytes == [42] && reads.all == Array(0..<40))
                    try await flow
                    #expect(Self.links(bench) == 1)
                }
                #expect(flowing.state.isReady)
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }
}
