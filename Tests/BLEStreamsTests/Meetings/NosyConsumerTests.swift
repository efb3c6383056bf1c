import BLERadio
import BLESimulator
import Synchronization
import Testing

@testable import BLEStreams

/// Consumers that look into what wakes them while they are being woken: where a lock were held, they would never get
/// it.
@Suite(.timeLimit(.minutes(10))) struct NosyConsumerTests {
    /// Looks, in the caller's own thread, whenever a task is to go on.
    private final class NosyExecutor: TaskExecutor {
        private let time: VirtualTime
        private let look: @Sendable () -> Void
        private let count = Atomic(0)

        var looks: Int { count.load(ordering: .relaxed) }

        init(_ time: VirtualTime, _ look: @escaping @Sendable () -> Void) {
            self.time = time
            self.look = look
        }

        func enqueue(_ job: consuming ExecutorJob) {
            look()
            count.add(1, ordering: .relaxed)
            time.enqueue(job)
        }
    }

    @Test func `of a queue, its commands and its link`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                let handle = queue.enqueue(
                    CommandBlock("work") { context in
                        context.begin("read", total: 3)
                        for number in 1...3 {
                            _ = try await context.read(Bench.readable)
                            context.progress(number, of: 3)
                        }
                    }
                )
                let nosy = NosyExecutor(bench.time) {
                    _ = (handle.state, queue.activeFlow, queue.cancel(0))
                    _ = bench.central.core.states.current(bench.peripheral.address)
                }
                let seen = Recorder<String>()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask(executorPreference: nosy) {
                        for try await _ in queue.contents { seen.add("contents") }
                    }
                    group.addTask(executorPreference: nosy) {
                        for try await _ in queue.progress { seen.add("progress") }
                    }
                    group.addTask(executorPreference: nosy) { for try await _ in handle.states { seen.add("states") } }
                    group.addTask(executorPreference: nosy) {
                        for try await _ in bench.peripheral.connectionStates { seen.add("link") }
                    }
                    try await handle.value
                    try await queue.run(.disconnect)
                    try await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
                #expect(Set(seen.all) == ["contents", "progress", "states", "link"] && nosy.looks > 10)
            }
        }
    }

    @Test func `of a session and its streams`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                let followed = Session.Subscription(Bench.notifying)
                let nosy = NosyExecutor(bench.time) {
                    _ = (session.state, session.link, session.peripheral, session.channels.isOn(followed))
                }
                let seen = Recorder<String>()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask(executorPreference: nosy) { for try await _ in session.states { seen.add("states") } }
                    group.addTask(executorPreference: nosy) {
                        for try await _ in session.notifications(of: Bench.notifying) { seen.add("values") }
                    }
                    group.addTask(executorPreference: nosy) {
                        try await session.ready()
                        seen.add("ready")
                    }
                    try await bench.time.sleep(for: .seconds(5))
                    _ = bench.air.faults.add(.dropLink(after: Duration.zero))
                    try await bench.time.sleep(for: .seconds(5))
                    group.cancelAll()
                    while await group.nextResult() != nil {}
                }
                #expect(Set(seen.all) == ["states", "values", "ready"] && nosy.looks > 10)
            }
        }
    }

    @Test func `of a server`() async throws {
        let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
            let nosy = NosyExecutor(bench.time) { _ = (server.state, server.centrals) }
            let seen = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: nosy) { for try await _ in server.states { seen.add("states") } }
                group.addTask(executorPreference: nosy) {
                    for try await _ in server.centralEvents { seen.add("centrals") }
                }
                group.addTask(executorPreference: nosy) { for try await _ in server.backlogs { seen.add("backlogs") } }
                defer { #expect(seen.all.contains("states") && seen.all.contains("centrals")) }
                try await group.waitForAll()
            }
        }
        try await Bench.run(serve: serve) { bench in
            try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
        }
    }
}
