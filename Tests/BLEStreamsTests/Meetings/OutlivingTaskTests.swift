import BLESimulator
import BLEStreams
import Testing

/// Tasks that a program starts in a command, or in the first steps on a link, and that go on behind it: a worker that
/// is started on its first use, for example.
@Suite(.timeLimit(.minutes(10))) struct OutlivingTaskTests {
    private static let read = CommandBlock.read(Bench.readable)

    /// What another task does once it is told to.
    private struct Worker {
        let task: Task<Void, any Error>
        private let begin: AsyncStream<Void>.Continuation

        /// Starts the task where it stands, with all that is bound there.
        init(on time: VirtualTime, _ work: @escaping @Sendable () async throws -> Void) {
            let (orders, begin) = AsyncStream<Void>.makeStream()
            self.begin = begin
            task = Task(executorPreference: time) {
                for await _ in orders {}
                try await work()
            }
        }

        func finish() async throws {
            begin.finish()
            try await task.value
        }
    }

    @Test(arguments: [false, true])
    func `a task that a command has started may use the queue behind it`(isEnqueued: Bool) async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let start = CommandBlock("start") { _ in
                    Worker(on: bench.time) {
                        let value = try await queue.run(Self.read)
                        #expect(value.bytes == [1, 2, 3])
                        let next = queue.enqueue(Self.read)
                        #expect(try await next.value.bytes == [1, 2, 3])
                    }
                }
                let worker = isEnqueued ? try await queue.enqueue(start).value : try await queue.run(start)
                try await worker.finish()
            }
        }
    }

    @Test func `a task that a command has started may use the session behind it`() async throws {
        try await Bench.run { bench in
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { session in
                let start = CommandBlock("start") { _ in
                    Worker(on: bench.time) {
                        let value = try await session.read(Bench.readable)
                        #expect(value.bytes == [1, 2, 3])
                    }
                }
                try await session.queue.run(start).finish()
            }
        }
    }

    @Test func `a task that the first steps on a link have started waits until the session has disconnected`()
        async throws
    {
        try await Bench.run { bench in
            let (known, workers) = (Recorder<Session>(), Recorder<Worker>())
            defer { known.forget() }
            let session = bench.central.session(Session.Plan(bench.peripheral)) { _ in
                guard let session = known.all.first else { return }
                workers.add(
                    Worker(on: bench.time) {
                        await session.disconnect()
                        #expect(session.state.kind == .initial)
                        #expect(bench.centralAdapter.activity.links.isEmpty)
                    }
                )
            }
            known.add(session)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await session.run() }
                try await session.ready()
                try await #require(workers.all.first).finish()
                session.stop()
                try await group.waitForAll()
            }
        }
    }
}
