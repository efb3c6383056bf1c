import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// A command that is cancelled in each step of a queue, in every order of the decorators, and the one behind it.
@Suite(.timeLimit(.minutes(10))) struct CancelledDecorationTests {
    private typealias Phase = QueueDecoration.Phase

    private static let slowness = Duration.seconds(6)

    /// Which step is slow, once, and how often the link was authorized.
    private final class Slowness: Sendable {
        private let phase: Mutex<Phase?>
        let authorizations = Mutex(0)

        init(_ phase: Phase) { self.phase = Mutex(phase) }

        func take(_ phase: Phase) -> Bool {
            self.phase.withLock { slow in
                guard slow == phase else { return false }
                slow = nil
                return true
            }
        }
    }

    /// A device of which one answer is slow.
    private static func serve(_ slowness: Slowness, _ server: PeripheralServer, _ bench: Bench) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await write in server.writes(to: Bench.dynamic) {
                    if slowness.take(.authorizing) { try await bench.time.sleep(for: Self.slowness) }
                    write.accept()
                }
            }
            group.addTask {
                for try await read in server.reads(of: Bench.dynamic) {
                    if slowness.take(.command) { try await bench.time.sleep(for: Self.slowness) }
                    try read.respond([42])
                }
            }
            try await group.waitForAll()
        }
    }

    private static func cancelCommand(in phase: Phase, of decoration: QueueDecoration) async throws {
        let slowness = Slowness(phase)
        try await Bench.run {
            try await serve(slowness, $0, $1)
        } _: { bench in
            try await bench.peripheral.withQueue { plain in
                if !decoration.has(.connecting) { try await plain.run(.connect) }
                let queue = decoration.decorate(plain, limit: .seconds(60)) { link in
                    slowness.authorizations.withLock { $0 += 1 }
                    try await link.write([1], to: Bench.dynamic)
                }
                if slowness.take(.connecting) { bench.air.faults.add(.delayConnections(by: Self.slowness).times(1)) }
                let begin = bench.time.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self, "\(phase)") {
                            try await queue.run(.read(Bench.dynamic))
                        }
                    }
                    try await bench.time.sleep(for: .seconds(2))
                    group.cancelAll()
                    try await group.waitForAll()
                }
                #expect(bench.time.now - begin < .seconds(3), "\(phase)")
                let value = try await queue.run(.read(Bench.dynamic))
                #expect(value.bytes == [42], "\(phase)")
                // A link whose authorization was not completed is not an authorized one.
                if phase == .authorizing { #expect(slowness.authorizations.withLock { $0 } == 2) }
                let contents = try await queue.contents.first()
                #expect(contents.isEmpty)
            }
        }
    }

    @Test(arguments: QueueDecoration.all)
    func `one that is cancelled ends at once, and the next one has all its steps`(
        decoration: QueueDecoration
    ) async throws {
        for phase in decoration.phases { try await Self.cancelCommand(in: phase, of: decoration) }
    }
}
