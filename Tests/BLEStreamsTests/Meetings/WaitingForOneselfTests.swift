import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// Programs that would wait for themselves, where something else stands between the two.
@Suite(.timeLimit(.minutes(10))) struct WaitingForOneselfTests {
    private static let read = CommandBlock.read(Bench.readable)

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a flow that replaces itself in its own queue is told so, and goes on`(seed: UInt64) async throws {
        try await Bench.run(seed: seed) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let value = try await queue.run(
                    CommandBlock("outer") { context in
                        let error = await bleError { try await queue.run(Self.read, replacing: .activeFlow) }
                        #expect(error?.code == .deadlock)
                        return try await context.read(Bench.readable)
                    },
                    replacing: .activeFlow
                )
                #expect(value.bytes == [1, 2, 3])
            }
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a holder of a session's link that reads through the session is told so beside a waiting command`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                try await session.withLink { link in
                    try await link.exclusively { link in
                        let waiting = session.queue.enqueue(Self.read)
                        try await bench.time.sleep(for: .seconds(1))
                        let error = await bleError { _ = try await session.read(Bench.readable) }
                        #expect(error?.code == .deadlock)
                        #expect(waiting.state.description.hasPrefix("running"))
                    }
                }
            }
        }
    }

    @Test func `a command that uses a scope of its own peripheral is told so, and one of another peripheral works`()
        async throws
    {
        try await Bench.run { bench in
            let adapter = bench.air.adapter()
            let other = bench.central.peripheral(adapter.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Bench.description.run(on: adapter) { server in
                        for try await _ in server.centralEvents {}
                    }
                }
                let nested = CommandBlock<Void>("nested") { context in
                    let error = await bleError {
                        try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
                    }
                    #expect(error?.code == .deadlock)
                    try await other.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
                    let value = try await context.read(Bench.readable)
                    #expect(value.bytes == [1, 2, 3] && bench.centralAdapter.activity.links.count == 1)
                }
                // The limit is a task of its own, which does the holder's work.
                try await bench.peripheral.withQueue { queue in
                    try await queue.connecting().run(nested.timeout(.seconds(60)).retry())
                }
                #expect(bench.centralAdapter.activity.links.isEmpty)
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a holder of a link that runs a command is told so behind another command`(kind: Int) async throws {
        try await Bench.run { bench in
            let hold: @Sendable (Link, CommandQueue) async throws -> Void = { link, queue in
                try await link.exclusively { _ in
                    queue.enqueue(Self.read)
                    try await bench.time.sleep(for: .seconds(1))
                    let error = await bleError { try await queue.run(Self.read) }
                    #expect(error?.code == .deadlock)
                    let handle = queue.enqueue(Self.read)
                    let other = await bleError { _ = try await handle.value }
                    #expect(other?.code == .deadlock)
                }
            }
            switch kind {
            case 0:
                try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                    try await session.withLink { try await hold($0, session.queue) }
                }
            case 1:
                try await bench.peripheral.withLink { link in
                    try await link.withQueue { try await hold(link, $0) }
                }
            default:
                try await bench.peripheral.withQueue { queue in
                    let queue = queue.connecting()
                    try await queue.run(Self.read)
                    let link = try #require(queue.link)
                    try await hold(link, queue)
                }
            }
        }
    }

    @Test(arguments: [CharacteristicOperation.read, .write])
    func `the closure of a session's operation that waits for the session is told so`(
        operation: CharacteristicOperation
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let limit = Duration.seconds(5)
                let errors = try await session.withLink(for: operation, timeout: nil) { link -> [BLEError?] in
                    let errors = [
                        await bleError { _ = try await session.read(Bench.readable, timeout: limit) },
                        await bleError { try await session.queue.run(Self.read, deadline: limit) },
                        await bleError { _ = try await session.queue.enqueue(Self.read, deadline: limit).value },
                        await bleError { try await session.ready(timeout: limit) },
                        await bleError { try await session.withLink(timeout: limit) { _ in } },
                        await bleError {
                            _ = try await session.notifications(of: Bench.notifying).timeout(limit).first()
                        },
                    ]
                    try await link.expect(Bench.readable, reads: [1, 2, 3])
                    return errors
                }
                for error in errors { #expect(error?.code == .deadlock, "\(String(describing: error))") }
                let value = try await session.read(Bench.readable, timeout: limit)
                #expect(Array(value) == [1, 2, 3])
            }
        }
    }

    @Test func `the closure of a session's operation whose link is lost may wait for the next one`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.withLink(for: .read, timeout: nil) { _ in
                    _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                    try await bench.time.sleep(for: .seconds(20))
                    try await session.ready(timeout: .seconds(60))
                }
            }
        }
    }

    @Test func `so may it beside a stream that began meanwhile, whose subscription waits for the operation's end`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await session.ready()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await session.withLink(for: .read, timeout: nil) { _ in
                            try await bench.time.sleep(for: .seconds(2))
                            _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                            try await bench.time.sleep(for: .seconds(20))
                            try await session.ready(timeout: .seconds(60))
                        }
                    }
                    group.addTask {
                        try await bench.time.sleep(for: .seconds(1))
                        _ = try await session.notifications(of: Bench.notifying).first()
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `a command of a session's queue that disconnects the session doesn't hang`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                _ = await bleError {
                    try await session.queue.run(
                        CommandBlock("leave") { context in
                            await session.disconnect()
                            _ = try await context.read(Bench.readable)
                        }
                    )
                }
                #expect(session.state.kind == .initial)
            }
        }
    }

    @Test func `the first steps on a link that disconnect the session don't hang`() async throws {
        try await Bench.run { bench in
            let known = Holder()
            defer { known.set(nil) }
            let session = bench.central.session(Session.Plan(bench.peripheral)) { _ in
                await known.session?.disconnect()
            }
            known.set(session)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await bench.time.sleep(for: .seconds(20))
                #expect(session.state.kind == .initial)
                session.stop()
                try await group.waitForAll()
            }
        }
    }

    @Test func `the first steps on a link that remove the session from its fleet don't hang`() async throws {
        try await Bench.run { bench in
            let known = Holder()
            defer { known.set(nil) }
            try await bench.central.withFleet { fleet in
                let session = fleet.add(Session.Plan(bench.peripheral)) { _ in
                    if let session = known.session { await fleet.remove(session) }
                }
                known.set(session)
                try await bench.time.sleep(for: .seconds(20))
                #expect(fleet.sessions.isEmpty)
            }
        }
    }

    @Test(arguments: [false, true], 1...3 as ClosedRange<UInt64>)
    func `two sessions whose first steps end each other don't hang`(isRemoved: Bool, seed: UInt64) async throws {
        try await Bench.run(seed: seed) { bench in
            let (known, begun) = (Recorder<Session>(), Recorder<Int>())
            defer { known.forget() }
            try await bench.central.withFleet { fleet in
                for number in 0...1 {
                    known.add(
                        fleet.add(Session.Plan(bench.peripheral)) { _ in
                            begun.add(number)
                            // The first one to wake up cancels the other one, which goes on nevertheless.
                            try? await bench.time.sleep(for: .seconds(5))
                            let other = known.all[1 - number]
                            if isRemoved { await fleet.remove(other) } else { await other.disconnect() }
                        }
                    )
                }
                try await bench.time.sleep(for: .seconds(60))
                #expect(begun.all.sorted() == [0, 1])
                #expect(known.all.allSatisfy { $0.state.kind == .initial })
                #expect(fleet.sessions.isEmpty == isRemoved)
                #expect(bench.centralAdapter.activity.links.isEmpty)
            }
        }
    }

    @Test func `a command that removes its session from its fleet ends with it, and the session is not kept`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.isKept = true
            try await bench.central.withFleet { [plan] fleet in
                let session = fleet.add(plan)
                try await session.ready()
                #expect(bench.central.keptPlans.count == 1)
                _ = await bleError {
                    try await session.queue.run(
                        CommandBlock("remove") { context in
                            await fleet.remove(session)
                            _ = try await context.read(Bench.readable)
                        }
                    )
                }
                // Waits until it has left.
                await fleet.remove(session)
                #expect(fleet.sessions.isEmpty && bench.central.keptPlans.isEmpty)
                #expect(bench.centralAdapter.activity.links.isEmpty)
            }
        }
    }

    @Test func `a read of a session has its limit also beside a long command`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await session.queue.run(
                            CommandBlock("long") { _ in try await bench.time.sleep(for: .seconds(600)) }
                        )
                    }
                    try await bench.time.sleep(for: .seconds(5))
                    let error = await bleError { _ = try await session.read(Bench.readable, timeout: .seconds(5)) }
                    #expect(error?.code == .timedOut && bench.time.now <= .seconds(20))
                    #expect(error?.cause.contains("did not end") == true)
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
            }
        }
    }
}

/// A session that its own closure needs.
private final class Holder: Sendable {
    private let known = Mutex<Session?>(nil)

    var session: Session? { known.withLock { $0 } }

    /// `nil` at the end: the first steps of a session have the holder.
    func set(_ session: Session?) {
        let former = known.withLock { known in
            defer { known = session }
            return known
        }
        withExtendedLifetime(former) {}
    }
}
