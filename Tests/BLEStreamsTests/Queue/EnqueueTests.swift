import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct EnqueueTests {
    private static func work(_ name: String, _ seconds: Int, _ log: Recorder<String>, _ bench: Bench) -> CommandBlock<
        String
    > {
        CommandBlock(name) { context in
            log.add("\(name) \(bench.time.now.components.seconds)")
            context.report(CommandProgress(phase: "work", completed: 1, total: 2))
            try await bench.time.sleep(for: .seconds(seconds))
            return name
        }
    }

    /// With many seeds: the order of the jobs is anybody's guess.
    @Test(arguments: 1...20) func `commands that are enqueued run in the order of the calls, mixed with run`(
        seed: UInt64
    ) async throws {
        try await Bench.run(seed: seed) { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let a = queue.enqueue(Self.work("a", 2, log, bench))
                let b = queue.enqueue(Self.work("b", 2, log, bench))
                let c = queue.enqueue(Self.work("c", 2, log, bench))
                let d = try await queue.run(Self.work("d", 2, log, bench))
                let e = queue.enqueue(Self.work("e", 2, log, bench))
                #expect([a.id, b.id, c.id, e.id] == [1, 2, 3, 5] && d == "d")
                let values = [try await e.value, try await a.value, try await b.value, try await c.value]
                #expect(values == ["e", "a", "b", "c"])
                // Any number of times.
                try await a.expect(Array("a"))
            }
            #expect(log.all == ["a 0", "b 2", "c 4", "d 6", "e 8"])
        }
    }

    /// With many seeds: the task that runs what is enqueued begins before the closure's end, or behind it.
    @Test(arguments: 1...20) func `a queue whose closure ends at once ends too`(seed: UInt64) async throws {
        try await Bench.run(seed: seed) { bench in
            try await bench.peripheral.withQueue { _ in }
            let handle = try await bench.peripheral.withQueue { $0.enqueue(.read(Bench.readable)) }
            #expect(await bleError { _ = try await handle.value }?.code == .ended)
            // One that is refused at once.
            try await bench.peripheral.withQueue { queue in
                #expect(await bleError { _ = try await queue.run(.read(Bench.readable)) }?.code == .disconnected)
            }
            try await bench.central.withSession(Session.Plan(bench.peripheral)) { _ in }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `enqueueing doesn't wait, and priorities count`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let first = queue.enqueue(Self.work("first", 1, log, bench))
                var handles = [first]
                // The first one has begun: what is more urgent doesn't interrupt it.
                _ = try await first.states.first { if case .running = $0 { true } else { false } }
                for (name, priority) in [("low", CommandQueue.Priority.low), ("normal", .normal), ("high", .high)] {
                    handles.append(queue.enqueue(Self.work(name, 1, log, bench), priority: priority))
                }
                #expect(bench.time.now == .zero)
                for handle in handles { _ = try await handle.value }
            }
            #expect(log.all == ["first 0", "high 1", "normal 2", "low 3"])
        }
    }

    @Test func `a handle cancels its command, waiting or running, and disturbs no other`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let handles = ["a", "b", "c"].map { queue.enqueue(Self.work($0, 10, log, bench)) }
                try await bench.time.sleep(for: .seconds(1))
                #expect(handles[1].cancel())
                #expect(handles[0].cancel())
                for handle in handles.prefix(2) {
                    await #expect(throws: CancellationError.self) { try await handle.value }
                }
                try await handles[2].expect(Array("c"))
                #expect(handles.map { "\($0.state)" } == ["ended: cancelled", "ended: cancelled", "ended: done"])
                #expect(!handles[2].cancel())
                // One that is cancelled before anything could happen.
                let none = queue.enqueue(Self.work("none", 1, log, bench))
                none.cancel()
                await #expect(throws: CancellationError.self) { try await none.value }
            }
            #expect(log.all == ["a 0", "c 1"])
        }
    }

    @Test func `a task that gives up waiting for a handle doesn't cancel the command`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let handle = queue.enqueue(Self.work("a", 10, log, bench))
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await #expect(throws: CancellationError.self) { try await handle.value } }
                    try? await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                }
                #expect(bench.time.now == .seconds(1))
                try await handle.expect(Array("a"))
                #expect(bench.time.now == .seconds(10))
            }
        }
    }

    @Test func `a handle that is dropped changes nothing`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                for name in ["a", "b"] { queue.enqueue(Self.work(name, 1, log, bench)) }
                try await bench.time.sleep(for: .seconds(5))
            }
            #expect(log.all == ["a 0", "b 1"])
        }
    }

    @Test func `a handle tells where its command is, from the beginning to the end`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                queue.enqueue(Self.work("a", 1, log, bench))
                let handle = queue.enqueue(Self.work("b", 1, log, bench))
                let states = try await handle.states.map { "\($0)" }.collect()
                #expect(states == ["waiting", "running", "running (work 1/2)", "ended: done"])
                // Also for whoever comes later.
                let last = try await handle.states.map { "\($0)" }.collect()
                #expect(last == ["ended: done"])
                let failing = queue.enqueue(
                    CommandBlock("c") { _ in throw BLEError(.busy, operation: "c", cause: "no") }
                )
                #expect(await bleError { try await failing.value }?.code == .busy)
                #expect("\(failing.state)".hasPrefix("ended: c"))
            }
        }
    }

    @Test func `a deadline counts from the call on`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                queue.enqueue(Self.work("a", 5, log, bench))
                let waiting = queue.enqueue(Self.work("b", 1, log, bench), deadline: .seconds(2))
                let running = queue.enqueue(Self.work("c", 60, log, bench), deadline: .seconds(7))
                let first = await bleError { _ = try await waiting.value }
                #expect(first?.cause.contains("turn did not come") == true && bench.time.now == .seconds(2))
                let second = await bleError { _ = try await running.value }
                #expect(second?.cause.contains("did not end") == true && bench.time.now == .seconds(7))
            }
        }
    }

    @Test func `the end of the scope cancels what is still in, and ends the handles`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            let handles = try await bench.peripheral.withQueue { queue in
                let handles = ["a", "b"].map { queue.enqueue(Self.work($0, 100, log, bench)) }
                try await bench.time.sleep(for: .seconds(1))
                return (handles, queue)
            }
            for handle in handles.0 { #expect(await bleError { _ = try await handle.value }?.code == .ended) }
            #expect(log.all == ["a 0"] && bench.time.now == .seconds(1))
            // Nothing more is let in.
            let late = handles.1.enqueue(Self.work("late", 1, log, bench))
            #expect(await bleError { _ = try await late.value }?.code == .ended)
            #expect(log.all == ["a 0"])
        }
    }

    /// With many seeds: the closure enqueues one more before the task that runs what is enqueued ends, or behind it.
    @Test(arguments: 1...20) func `cancelling the scope's task ends what was enqueued`(seed: UInt64) async throws {
        try await Bench.run(seed: seed) { bench in
            let log = Recorder<String>()
            let kept = Recorder<CommandQueue.Handle<String>>()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    try? await bench.peripheral.withQueue { queue in
                        for name in ["a", "b"] { kept.add(queue.enqueue(Self.work(name, 100, log, bench))) }
                        try? await bench.time.sleep(for: .seconds(100))
                        kept.add(queue.enqueue(Self.work("c", 100, log, bench)))
                    }
                }
                try? await bench.time.sleep(for: .seconds(1))
                group.cancelAll()
            }
            #expect(kept.all.count == 3 && log.all == ["a 0"] && bench.time.now == .seconds(1))
            for handle in kept.all { await #expect(throws: CancellationError.self) { try await handle.value } }
        }
    }

    @Test func `a command may enqueue in its own queue, and is told where it would wait for itself`() async throws {
        try await Bench.run { bench in
            let log = Recorder<String>()
            try await bench.peripheral.withQueue { queue in
                let inner = try await queue.run(
                    CommandBlock("outer") { _ in
                        let inner = queue.enqueue(Self.work("inner", 1, log, bench))
                        #expect(await bleError { _ = try await inner.value }?.code == .deadlock)
                        return inner
                    }
                )
                try await inner.expect(Array("inner"))
            }
        }
    }

    @Test func `a decorated queue enqueues decorated commands`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withQueue { queue in
                bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                let handle = queue.connecting().retrying().enqueue(.read(Bench.readable))
                try await handle.expect([1, 2, 3])
            }
        }
    }

    @Test func `a link that is held already has a queue too`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                try await link.exclusively { link in
                    try await link.withQueue { queue in
                        let write = queue.enqueue(.write([6], to: Bench.readable))
                        let value = try await queue.run(.read(Bench.readable))
                        try await write.value
                        #expect(Array(value) == [6])
                    }
                    try await link.expect(Bench.readable, reads: [6])
                }
                try await link.expect(Bench.readable, reads: [6])
            }
        }
    }

    @Test func `a link of one's own has a queue too, which neither makes nor ends it`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                try await link.withQueue { queue in
                    let write = queue.enqueue(.write([5], to: Bench.readable))
                    let read = queue.enqueue(.read(Bench.readable))
                    try await read.expect([5])
                    try await write.value
                    #expect(await bleError { try await queue.run(.disconnect) }?.code == .notSupported)
                }
                try await link.expect(Bench.readable, reads: [5])
                try await link.withQueue { queue in
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                    let lost = await bleError {
                        try await queue.connecting().run(CommandBlock.read(Bench.readable).retry())
                    }
                    #expect(lost?.code == .disconnected)
                    let gone = await bleError { try await queue.run(.read(Bench.readable)) }
                    #expect(gone?.code == .disconnected && gone?.remedy.contains("peripheral.withQueue") == true)
                }
            }
        }
    }
}
