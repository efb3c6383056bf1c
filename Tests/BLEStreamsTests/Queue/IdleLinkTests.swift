import BLESimulator
import BLEStreams
import Testing

/// When the link of a queue ends that nobody uses.
@Suite(.timeLimit(.minutes(10))) struct IdleLinkTests {
    private static let read = CommandBlock.read(Bench.readable)

    private static func isUp(_ bench: Bench) -> Bool { !bench.centralAdapter.activity.links.isEmpty }

    @Test func `a link that was made again in the middle of a command ends when it is idle`() async throws {
        try await Bench.run { bench in
            let failures = Recorder<Int>()
            try await bench.peripheral.withQueue { queue in
                let connecting = queue.connecting(then: .disconnectWhenIdle(.seconds(1)))
                let queue = connecting.retrying().authorizing { _ in
                    failures.add(1)
                    if failures.all.count == 1 { throw BLEError(.timedOut, operation: "authorize", cause: "a test") }
                }
                // Refused once, it makes another link.
                try await queue.run(Self.read)
                #expect(Self.isUp(bench) && failures.all.count == 2)
                try await bench.time.sleep(for: .seconds(3))
                #expect(!Self.isUp(bench))
                // The same where a command makes another one by itself.
                try await connecting.run(
                    CommandBlock("twice") { context in
                        try await context.disconnect()
                        try await context.connect()
                    }
                )
                #expect(Self.isUp(bench))
                try await bench.time.sleep(for: .seconds(3))
                #expect(!Self.isUp(bench))
            }
        }
    }

    @Test func `the last command decides what happens to the link`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting(then: .disconnectWhenIdle(.seconds(1))).run(Self.read)
                try await queue.connecting(then: .stay).run(Self.read)
                try await bench.time.sleep(for: .seconds(60))
                #expect(Self.isUp(bench))
                try await queue.connecting(then: .disconnectWhenIdle(.seconds(1))).run(Self.read)
                // One that doesn't connect changes nothing.
                try await queue.run(Self.read)
                try await bench.time.sleep(for: .seconds(3))
                #expect(!Self.isUp(bench))
                try await queue.run(.connect)
                try await bench.time.sleep(for: .seconds(60))
                #expect(Self.isUp(bench))
            }
        }
    }

    /// From the moment at which the idle link begins to end, to one at which it is down.
    private static let moments: [Duration] = [.seconds(10), .milliseconds(10_005), .milliseconds(10_010), .seconds(11)]

    @Test(arguments: moments)
    func `a queue that ends while its idle link does waits for that`(moment: Duration) async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting(then: .disconnectWhenIdle(.seconds(10))).run(Self.read)
                try await bench.time.sleep(for: moment)
                #expect(queue.link == nil)
            }
            #expect(!Self.isUp(bench))
        }
    }

    @Test(arguments: moments)
    func `a command that comes while the idle link ends gets another one`(moment: Duration) async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(then: .disconnectWhenIdle(.seconds(10)))
                try await queue.run(Self.read)
                try await bench.time.sleep(for: moment)
                let value = try await queue.run(Self.read)
                #expect(value.bytes == [1, 2, 3])
            }
        }
    }
}
