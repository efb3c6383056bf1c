import BLESimulator
import BLEStreams
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct DecoratorTests {
    static let key: [UInt8] = [0x4B, 0x45, 0x59]

    /// A device that answers reads only after the key was written on the same link.
    static let guarded: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
        let admitted = Admitted()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await write in server.writes(to: Bench.dynamic) {
                    if write.value == key {
                        admitted.all.withLock { _ = $0.insert(write.central) }
                        write.accept()
                    } else {
                        write.reject(.valueNotAllowed)
                    }
                }
            }
            group.addTask {
                for try await read in server.reads(of: Bench.dynamic) {
                    if admitted.all.withLock({ $0.contains(read.central) }) {
                        try read.respond([42])
                    } else {
                        read.reject(.insufficientAuthorization)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private final class Admitted: Sendable {
        let all = Mutex<Set<ConnectedCentral>>([])
    }

    static func writes(_ bench: Bench) -> Int { bench.writes.count }

    @Test func `the same work without and with decorators differs in two lines`() async throws {
        try await Bench.run(serve: Self.guarded) { bench in
            let measure = CommandBlock.read(Bench.dynamic)

            // By hand.
            try await bench.peripheral.withQueue { queue in
                try await queue.run(.connect)
                try await queue.run(.authorize { try await $0.write(Self.key, to: Bench.dynamic) })
                let value = try await queue.run(measure)
                #expect(Array(value) == [42])
                try await queue.run(.disconnect)
            }

            // Decorated: two lines more where the queue is made, and none around any command.
            try await bench.peripheral.withQueue { queue in
                let queue =
                    queue
                    .connecting(then: .disconnect)
                    .authorizing { try await $0.write(Self.key, to: Bench.dynamic) }
                let value = try await queue.run(measure)
                #expect(Array(value) == [42])
                #expect(bench.centralAdapter.activity.links.isEmpty)
            }
        }
    }

    @Test func `authorizing is done once for each connection, or before each command`() async throws {
        try await Bench.run(serve: Self.guarded) { bench in
            try await bench.peripheral.withQueue { plain in
                let once = plain.connecting(then: .stay).authorizing { try await $0.write(Self.key, to: Bench.dynamic) }
                for _ in 0..<3 { try await once.run(.read(Bench.dynamic)) }
                #expect(Self.writes(bench) == 1)
                try await plain.run(.disconnect)
                try await once.run(.read(Bench.dynamic))
                #expect(Self.writes(bench) == 2)
                let each = plain.authorizing(.beforeEachCommand) { try await $0.write(Self.key, to: Bench.dynamic) }
                for _ in 0..<3 { try await each.run(.read(Bench.dynamic)) }
                #expect(Self.writes(bench) == 5)
            }
        }
    }

    @Test func `a refused authorization fails the command, and is tried again with the next one`() async throws {
        try await Bench.run(serve: Self.guarded) { bench in
            let attempts = Mutex(0)
            try await bench.peripheral.withQueue { queue in
                // The order of the two doesn't matter.
                let queue =
                    queue
                    .authorizing { link in
                        let number = attempts.withLock { count in
                            count += 1
                            return count
                        }
                        try await link.write(number == 1 ? [0] : Self.key, to: Bench.dynamic)
                    }
                    .connecting()
                let error = await bleError { try await queue.run(.read(Bench.dynamic)) }
                #expect(error?.attError == .valueNotAllowed)
                let value = try await queue.run(.read(Bench.dynamic))
                #expect(Array(value) == [42] && attempts.withLock { $0 } == 2)
            }
        }
    }

    /// Ends the link, and makes another one.
    private static let renew = CommandBlock<Void>("renew") { context in
        try await context.disconnect()
        try await context.connect(timeout: .seconds(30))
    }

    @Test func `an authorization is done again on a link that the next one makes`() async throws {
        try await Bench.run(serve: Self.guarded) { bench in
            try await bench.peripheral.withQueue { plain in
                let queue =
                    plain.connecting(then: .stay)
                    .authorizing { try await $0.write(Self.key, to: Bench.dynamic) }
                    .authorizing(with: Self.renew)
                for _ in 0..<2 {
                    let value = try await queue.run(.read(Bench.dynamic))
                    #expect(Array(value) == [42] && Self.writes(bench) == 2)
                }
            }
        }
    }

    @Test func `two authorizations that make links have an end`() async throws {
        try await Bench.run { bench in
            let runs = Recorder<Int>()
            try await bench.peripheral.withQueue { plain in
                let queue = (0..<2).reduce(plain.connecting(then: .stay)) { queue, number in
                    queue.authorizing(
                        with: CommandBlock<Void>("renew") { context in
                            runs.add(number)
                            try await Self.renew.run(in: context)
                        }
                    )
                }
                let value = try await queue.run(.read(Bench.readable))
                #expect(Array(value) == [1, 2, 3] && runs.all == [0, 1, 0, 1])
            }
        }
    }

    @Test func `an idle link is ended after a while, and not before`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting(then: .disconnectWhenIdle(.seconds(10)))
                try await queue.run(.read(Bench.readable))
                try await bench.time.sleep(for: .seconds(8))
                try await queue.run(.read(Bench.readable))
                try await bench.time.sleep(for: .seconds(8))
                #expect(bench.centralAdapter.activity.links.count == 1 && queue.link != nil)
                try await bench.time.sleep(for: .seconds(4))
                #expect(bench.centralAdapter.activity.links.isEmpty && queue.link == nil)
                let value = try await queue.run(.read(Bench.readable))
                #expect(Array(value) == [1, 2, 3])
            }
        }
    }

    @Test func `a command that loses its link makes another one when it is tried again`() async throws {
        try await Bench.run(serve: Self.guarded) { bench in
            try await bench.peripheral.withQueue { queue in
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                let queue = queue.authorizing { try await $0.write(Self.key, to: Bench.dynamic) }
                let measure = CommandBlock.connect.then(.read(Bench.dynamic))
                try await queue.run(measure.retry())
                #expect(Self.writes(bench) == 2)
            }
        }
    }

    @Test func `a decorator of one's own sees each command`() async throws {
        struct Logging: CommandQueue.Decorator {
            let log: Recorder<String>
            func run<C: Command>(_ command: C, in context: CommandContext) async throws -> C.Output {
                log.add(command.name)
                return try await command.run(in: context)
            }
        }
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let queue = queue.decorated(by: Logging(log: log)).connecting()
                try await queue.run(.read(Bench.readable))
                try await queue.run(.write([1], to: Bench.readable))
            }
            #expect(log.all == ["read A001", "write A001"])
        }
    }
}
