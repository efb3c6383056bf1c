import BLESimulator
import BLEStreams
import Testing

/// Queues on a link of which another user has exclusive use.
@Suite(.timeLimit(.minutes(10))) struct HeldLinkTests {
    /// Where the queue's link comes from.
    enum Origin: CaseIterable, Sendable {
        /// The other user has made it, and the queue has none yet.
        case other
        /// The queue has it already.
        case queue
        /// The queue was made on it.
        case given
    }

    private static let read = CommandBlock.read(Bench.readable)

    /// Runs a body with a queue while another user of the link has exclusive use of it, for this long.
    private static func beside(
        _ origin: Origin,
        holding duration: Duration,
        _ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            let begun = Recorder<Bool>()
            let meanwhile: @Sendable (CommandQueue) async throws -> Void = { queue in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await bench.peripheral.withLink { link in
                            try await link.exclusively { _ in
                                begun.add(true)
                                try await bench.time.sleep(for: duration)
                            }
                        }
                    }
                    while begun.all.isEmpty { try await bench.time.sleep(for: .milliseconds(5)) }
                    try await body(bench, queue)
                    try await group.waitForAll()
                }
            }
            switch origin {
            case .other: try await bench.peripheral.withQueue { try await meanwhile($0) }
            case .queue:
                try await bench.peripheral.withQueue { queue in
                    try await queue.run(.connect)
                    try await meanwhile(queue)
                }
            case .given:
                try await bench.peripheral.withLink { link in try await link.withQueue { try await meanwhile($0) } }
            }
        }
    }

    @Test(arguments: Origin.allCases) func `connecting limits the wait for a link that another user holds`(
        origin: Origin
    ) async throws {
        try await Self.beside(origin, holding: .seconds(20)) { bench, queue in
            let before = bench.time.now
            let error = await bleError { try await queue.connecting(timeout: .seconds(5)).run(Self.read) }
            #expect(error?.code == .timedOut && error?.cause.contains("exclusive use") == true)
            #expect(error?.remedy.contains("Let that use end first") == true)
            #expect(bench.time.now - before == .seconds(5))
            // It has left nothing behind: the next one comes right behind the holder.
            let value = try await queue.connecting(timeout: .seconds(60)).run(Self.read)
            #expect(value.bytes == [1, 2, 3])
            let waited = bench.time.now - before
            #expect(waited >= .seconds(19) && waited <= .seconds(21))
        }
    }

    @Test(arguments: Origin.allCases) func `a deadline that passes meanwhile names the other user`(
        origin: Origin
    ) async throws {
        try await Self.beside(origin, holding: .seconds(30)) { _, queue in
            let connecting = queue.connecting(timeout: .seconds(60))
            for queue in origin == .other ? [connecting] : [queue, connecting] {
                let error = await bleError { try await queue.run(Self.read, deadline: .seconds(5)) }
                #expect(error?.code == .timedOut && error?.operation == "read A001")
                #expect(error?.cause.contains("exclusive use") == true, "\(error as Any)")
                #expect(error?.remedy.contains("Let that use end first") == true)
            }
        }
    }

    @Test(arguments: Origin.allCases) func `each attempt has the limit for itself`(origin: Origin) async throws {
        try await Self.beside(origin, holding: .seconds(8)) { bench, queue in
            let policy = RetryPolicy.constant(.seconds(1), attempts: 2)
            let value = try await queue.retrying(policy).connecting(timeout: .seconds(5)).run(Self.read)
            #expect(value.bytes == [1, 2, 3] && bench.time.now <= .seconds(11))
        }
    }

    @Test(arguments: [Origin.other, .queue])
    func `a limit is named as it was given, also if another user's link has taken a part of it`(
        origin: Origin
    ) async throws {
        try await Self.beside(origin, holding: .seconds(3)) { bench, queue in
            bench.air.faults.add(.dropLink(after: Duration.seconds(2)))
            bench.air.faults.add(.ignoreConnections)
            let before = bench.time.now
            let error = await bleError { try await queue.connecting(timeout: .seconds(5)).run(Self.read) }
            #expect(error?.code == .timedOut && error?.elapsed == .seconds(5))
            #expect(error?.cause.contains("did not accept a connection within 5.0 seconds") == true, "\(error as Any)")
            #expect(bench.time.now - before == .seconds(5))
        }
    }

    @Test(arguments: Origin.allCases) func `a time limit around connecting covers the wait`(
        origin: Origin
    ) async throws {
        try await Self.beside(origin, holding: .seconds(20)) { bench, queue in
            let before = bench.time.now
            let error = await bleError { try await queue.timingOut(after: .seconds(3)).connecting().run(Self.read) }
            #expect(error?.code == .timedOut && bench.time.now - before == .seconds(3))
        }
    }

    @Test func `a command that has had no turn leaves the link to its holder`() async throws {
        try await Self.beside(.queue, holding: .seconds(20)) { _, queue in
            let brief = queue.connecting(timeout: .seconds(5), then: .disconnect)
            let error = await bleError { try await brief.run(Self.read) }
            #expect(error?.code == .timedOut && queue.link != nil)
            let value = try await queue.connecting(timeout: .seconds(60), then: .disconnect).run(Self.read)
            #expect(value.bytes == [1, 2, 3] && queue.link == nil)
        }
    }

    @Test func `what authorizes before each command is refused, and the link that was up stays`() async throws {
        try await Self.beside(.queue, holding: .seconds(2)) { _, queue in
            let number = Recorder<Int>()
            let admitted = queue.connecting().authorizing(.beforeEachCommand) { link in
                number.add(number.all.count)
                if number.all.count == 1 { try await link.write([1], to: Bench.readOnly) }
            }
            let error = await bleError { try await admitted.run(Self.read) }
            #expect(error?.code != .timedOut && queue.link != nil)
            let value = try await admitted.run(Self.read)
            #expect(value.bytes == [1, 2, 3] && number.all.count == 2)
        }
    }
}
