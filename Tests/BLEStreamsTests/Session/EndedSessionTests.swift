import BLESimulator
import BLEStreams
import Testing

/// Who waits for a session that ends, or uses one that has ended.
@Suite(.timeLimit(.minutes(10))) struct EndedSessionTests {
    /// Everything that waits for a session, each with how it ends.
    private static func waitInEveryWay(for session: Session) async -> [String] {
        await withTaskGroup(of: String.self) { group in
            group.addTask { await outcome("read") { _ = try await session.read(Bench.readable) } }
            group.addTask { await outcome("write") { try await session.write([1], to: Bench.readable) } }
            group.addTask { await outcome("ready") { try await session.ready() } }
            group.addTask { await outcome("link") { try await session.withLink { _ in } } }
            group.addTask { await outcome("run") { try await session.queue.run(.read(Bench.readable)) } }
            group.addTask {
                await outcome("values") { for try await _ in session.values(of: Bench.notifying) {} }
            }
            group.addTask {
                await outcome("notifications") { for try await _ in session.notifications(of: Bench.notifying) {} }
            }
            group.addTask { await outcome("contents") { for try await _ in session.queue.contents {} } }
            return await group.reduce(into: []) { $0.append($1) }.sorted()
        }
    }

    private static func outcome(_ name: String, _ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "\(name): done"
        } catch let error as BLEError {
            return "\(name): \(error.code)"
        } catch {
            return "\(name): \(type(of: error))"
        }
    }

    private static let ends = [
        "contents: done", "link: ended", "notifications: done", "read: ended", "ready: ended", "run: ended",
        "values: done", "write: ended",
    ]

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `one that is removed from its fleet ends what waits for it, then and later`(seed: UInt64) async throws {
        try await Bench.run(seed: seed, centrals: 0) { bench in
            try await bench.central.withFleet { fleet in
                let session = fleet.add(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
                async let meanwhile = Self.waitInEveryWay(for: session)
                try await bench.time.sleep(for: .seconds(5))
                await fleet.remove(session)
                #expect(await meanwhile == Self.ends)
                #expect(await Self.waitInEveryWay(for: session) == Self.ends)
            }
        }
    }

    @Test func `one that is stopped before it is run ends what waits for it, then and later`() async throws {
        try await Bench.run { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
            async let meanwhile = Self.waitInEveryWay(for: session)
            let enqueued = session.queue.enqueue(.read(Bench.readable))
            try await bench.time.sleep(for: .seconds(5))
            session.stop()
            #expect(await meanwhile == Self.ends)
            try await session.run()
            #expect(await Self.waitInEveryWay(for: session) == Self.ends)
            await #expect(throws: CancellationError.self) { _ = try await enqueued.value }
        }
    }

    @Test func `one whose task was cancelled begins again with the next`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
            for _ in 0..<2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await session.run() }
                    // Before it runs again, its streams are still those that have ended.
                    try await bench.time.sleep(for: .milliseconds(1))
                    _ = try await session.notifications(of: Bench.notifying).first()
                    let value = try await session.queue.run(.read(Bench.readable))
                    #expect(value.bytes == [1, 2, 3])
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
                let late = try await session.notifications(of: Bench.notifying).collect()
                #expect(late.isEmpty && bench.centralAdapter.activity.links.isEmpty)
            }
        }
    }

    @Test func `one whose task was cancelled tells of its end whoever comes with a command, waiting or not`()
        async throws
    {
        try await Bench.run { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral))
            let read = CommandBlock.read(Bench.readable)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await session.ready(timeout: .seconds(60))
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
            let waiting = await bleError { _ = try await session.queue.run(read) }
            let enqueued = session.queue.enqueue(read)
            let handed = await bleError { _ = try await enqueued.value }
            for error in [waiting, handed] {
                #expect(error?.code == .ended && error?.remedy.isEmpty == false, "\(String(describing: error))")
            }
            #expect("\(enqueued.state)".hasPrefix("ended: "))
            #expect("\(enqueued.state)" != "ended: cancelled")
        }
    }

    @Test func `one that had failed when its task was cancelled has failed still with the next, until it is reset`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let fault = bench.air.faults.add(.refuseConnections(1000))
            var plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            plan.reconnecting = nil
            let session = bench.central.session(plan)
            for _ in 0..<2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await session.run() }
                    // Before it runs again, its streams are still those that have ended.
                    try await bench.time.sleep(for: .milliseconds(1))
                    let values = session.notifications(of: Bench.notifying).timeout(.seconds(60))
                    let error = await bleError { _ = try await values.first() }
                    #expect(error?.code == .connectionFailed)
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
                let late = try await session.notifications(of: Bench.notifying).collect()
                #expect(late.isEmpty)
            }
            bench.air.faults.remove(fault)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await bench.time.sleep(for: .milliseconds(1))
                try session.reset()
                _ = try await session.notifications(of: Bench.notifying).first()
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test func `one whose task is cancelled ends, however often others come with commands`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral))
            let read = CommandBlock.read(Bench.readable)
            let lastTry = Duration.seconds(600)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        var refusals = 0
                        while bench.time.now < lastTry {
                            do {
                                _ = try await session.queue.run(read)
                                refusals = 0
                            } catch let error as BLEError {
                                refusals = error.code == .ended ? refusals + 1 : 0
                            }
                            // Who is sent away comes again at once, and then with a little patience.
                            if refusals > 1 { try await bench.time.sleep(for: .milliseconds(100)) }
                        }
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { running in
                    running.addTask { try await session.run() }
                    try await session.ready(timeout: .seconds(60))
                    try await bench.time.sleep(for: .seconds(5))
                    running.cancelAll()
                    try await running.waitForAll()
                }
                #expect(bench.time.now < lastTry)
                // It takes commands again when it runs again.
                try await withThrowingTaskGroup(of: Void.self) { running in
                    running.addTask { try await session.run() }
                    // Before it runs again, it has still ended.
                    try await bench.time.sleep(for: .milliseconds(1))
                    _ = try await session.queue.run(read, deadline: .seconds(60))
                    running.cancelAll()
                    try await running.waitForAll()
                }
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test func `one that the program had disconnected before its task was cancelled stays disconnected`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let session = bench.central.session(Session.Plan(bench.peripheral).subscribing(to: Bench.notifying))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await session.ready(timeout: .seconds(60))
                await session.disconnect()
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await bench.time.sleep(for: .seconds(60))
                #expect(session.state == .disconnected(.initial))
                try session.connect()
                try await session.ready(timeout: .seconds(60))
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }
}
