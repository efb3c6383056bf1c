import BLESimulator
import BLEStreams
import Foundation
import Synchronization
import Testing

/// Every order of connecting, authorizing, retrying and timing out, on a device whose steps can be slow, refused or
/// lost.
@Suite(.timeLimit(.minutes(10))) struct QueueDecorationTests {
    typealias Phase = QueueDecoration.Phase

    /// What happens in one run.
    private struct Observation: Sendable {
        var error: BLEError?
        var elapsed = Duration.zero
        var connections = 0
        var authorizations = 0
        var reads = 0
    }

    /// Which step is slow, once, and which is refused, once.
    private final class Trouble: Sendable {
        let slow = Mutex<Phase?>(nil)
        let refused = Mutex<Phase?>(nil)
        let authorizations = Mutex(0)
        let reads = Mutex(0)

        func takeSlow(_ phase: Phase) -> Bool { Self.take(phase, slow) }
        func takeRefused(_ phase: Phase) -> Bool { Self.take(phase, refused) }

        private static func take(_ phase: Phase, _ place: borrowing Mutex<Phase?>) -> Bool {
            place.withLock { found in
                guard found == phase else { return false }
                found = nil
                return true
            }
        }
    }

    private static let slowness = Duration.seconds(6)
    private static let limit = Duration.seconds(4)

    /// Runs one read in a queue that is decorated so.
    private func run(
        _ decoration: QueueDecoration,
        slow: Phase? = nil,
        refused: Phase? = nil,
        isLost: Bool = false
    ) async throws -> Observation {
        let trouble = Trouble()
        let observations = Recorder<Observation>()
        try await Bench.run { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await write in server.writes(to: Bench.dynamic) {
                        if trouble.takeSlow(.authorizing) { try await bench.time.sleep(for: Self.slowness) }
                        trouble.takeRefused(.authorizing) ? write.reject(.valueNotAllowed) : write.accept()
                    }
                }
                group.addTask {
                    for try await read in server.reads(of: Bench.dynamic) {
                        if trouble.takeSlow(.command) { try await bench.time.sleep(for: Self.slowness) }
                        if trouble.takeRefused(.command) {
                            read.reject(.valueNotAllowed)
                        } else {
                            try read.respond([42])
                        }
                    }
                }
                try await group.waitForAll()
            }
        } _: { bench in
            try await bench.peripheral.withQueue { plain in
                if !decoration.has(.connecting) { try await plain.run(.connect) }
                let queue = decoration.decorate(plain, limit: Self.limit) { link in
                    trouble.authorizations.withLock { $0 += 1 }
                    try await link.write([1], to: Bench.dynamic)
                }
                trouble.slow.withLock { $0 = slow }
                trouble.refused.withLock { $0 = refused }
                if slow == .connecting { bench.air.faults.add(.delayConnections(by: Self.slowness).times(1)) }
                // For a reason that no further try cures.
                if refused == .connecting { bench.air.faults.add(.refuseConnections(reason: .other)) }
                if isLost { bench.air.faults.add(.dropLink(insteadOf: .readRequests)) }
                let read = CommandBlock.block("measure") { link in
                    trouble.reads.withLock { $0 += 1 }
                    return try await link.read(Bench.dynamic)
                }
                var observation = Observation()
                let begin = bench.time.now
                do { try await queue.run(read) } catch let error as BLEError { observation.error = error }
                observation.elapsed = bench.time.now - begin
                observation.connections =
                    bench.air.trace.filter { if case .connected = $0.event { true } else { false } }.count
                observation.authorizations = trouble.authorizations.withLock { $0 }
                observation.reads = trouble.reads.withLock { $0 }
                observations.add(observation)
            }
        }
        return try #require(observations.all.first)
    }

    @Test(arguments: QueueDecoration.all)
    func `a time limit covers what the table says, of each attempt or of all`(decoration: QueueDecoration) async throws
    {
        for phase in decoration.phases {
            let seen = try await run(decoration, slow: phase)
            guard decoration.limited.contains(phase) else {
                #expect(seen.error == nil && seen.elapsed >= Self.slowness, "\(phase) slow")
                #expect(seen.reads == 1 && seen.authorizations <= 1)
                continue
            }
            guard decoration.limitsEachAttempt else {
                #expect(seen.error?.code == .timedOut && seen.error?.operation == "measure", "\(phase) slow")
                #expect(seen.elapsed >= Self.limit && seen.elapsed < Self.slowness)
                continue
            }
            // The first attempt was cut, and the second one did it.
            #expect(seen.error == nil, "\(phase) slow")
            switch phase {
            case .connecting: #expect(seen.elapsed < Self.slowness)
            case .authorizing: #expect(seen.authorizations == 2 && seen.reads == 1)
            case .command: #expect(seen.reads == 2)
            }
        }
    }

    @Test(arguments: QueueDecoration.all)
    func `a step that is refused is tried again where the queue retries`(decoration: QueueDecoration) async throws {
        for phase in decoration.phases {
            let seen = try await run(decoration, refused: phase)
            guard decoration.has(.retrying) else {
                #expect(seen.error?.code == (phase == .connecting ? .connectionFailed : .attributeError), "\(phase)")
                #expect(seen.reads == (phase == .command ? 1 : 0))
                continue
            }
            #expect(seen.error == nil, "\(phase) refused")
            #expect(seen.reads == (phase == .command ? 2 : 1))
            // Once for each connection, unless it was that which failed.
            #expect(seen.authorizations == (decoration.has(.authorizing) ? (phase == .authorizing ? 2 : 1) : 0))
        }
    }

    @Test(arguments: QueueDecoration.all)
    func `a link that is lost in the command is made again where the queue connects and retries`(
        decoration: QueueDecoration
    ) async throws {
        let seen = try await run(decoration, isLost: true)
        if decoration.has(.retrying), decoration.has(.connecting) {
            #expect(seen.error == nil && seen.connections == 2 && seen.reads == 2)
            #expect(seen.authorizations == (decoration.has(.authorizing) ? 2 : 0))
        } else {
            // Without another link there is nothing to try again.
            #expect(seen.error?.code == .disconnected && seen.connections == 1 && seen.reads == 1)
        }
    }

    // MARK: - The documentation

    private static let article = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/BLEStreams/BLEStreams.docc/QueueDecorators.md")

    @Test func `the table in the documentation has each order, as it is tested`() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let start = try #require(text.range(of: "<!-- table -->\n")?.upperBound)
        let end = try #require(text.range(of: "<!-- /table -->")?.lowerBound)
        let expected = text.replacingCharacters(in: start..<end, with: QueueDecoration.table)
        if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTATION"] != nil {
            return try expected.write(to: Self.article, atomically: true, encoding: .utf8)
        }
        #expect(QueueDecoration.all.count == 65)
        #expect(text == expected, "make it anew: UPDATE_DOCUMENTATION=1 swift test --filter QueueDecorationTests")
    }
}
