import BLESimulator
import BLEStreams
import Testing

extension Acceptance {
    /// Work on a link, one command at a time.
    @Suite("Command queue", .timeLimit(.minutes(10))) struct Commands {
        private let key: [UInt8] = [1, 2, 3]

        @Test func `connect, authorize, read, write, subscribe and disconnect are commands that run in order`()
            async throws
        {
            try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
                try await bench.peripheral.withQueue { queue in
                    try await queue.run(.connect)
                    try await queue.run(.authorize { try await $0.write(key, to: Bench.readable) })
                    try await queue.run(.write([7], to: Bench.readable))
                    #expect(Array(try await queue.run(.read(Bench.readable))) == [7])
                    let numbers = try await queue.run(.subscribe(to: Bench.notifying, taking: 3))
                    #expect(numbers.map { UInt32(octets: $0) } == [0, 1, 2])
                    try await queue.run(.disconnect)
                    #expect(queue.link == nil && bench.writes.prefix(2) == [key, [7]])
                }
            }
        }

        @Test func `what is enqueued runs in the order of the calls, and urgent commands first`() async throws {
            try await Bench.run { bench in
                try await bench.peripheral.withQueue { queue in
                    let queue = queue.connecting()
                    let handles = (1...3).map { queue.enqueue(.write([$0], to: Bench.readable)) }
                    let urgent = queue.enqueue(.write([9], to: Bench.readable), priority: .high)
                    for handle in handles + [urgent] { try await handle.value }
                    // The first one ran already when the urgent one came.
                    #expect(bench.writes == [[1], [9], [2], [3]] || bench.writes == [[9], [1], [2], [3]])
                }
            }
        }

        @Test func `commands are composed, and the whole has the link for itself`() async throws {
            try await Bench.run { bench in
                try await bench.peripheral.withQueue { queue in
                    let setUp = CommandBlock.group("set up") {
                        CommandBlock.write([1], to: Bench.readable)
                        CommandBlock.write([2], to: Bench.readable)
                    }
                    let all = setUp.then(CommandBlock.read(Bench.readable))
                    let queue = queue.connecting()
                    let (whole, other) = (queue.enqueue(all), queue.enqueue(.write([3], to: Bench.readable)))
                    #expect(Array(try await whole.value) == [2])
                    try await other.value
                    #expect(bench.writes == [[1], [2], [3]])
                }
            }
        }

        @Test func `a retried read in a queue that connects and authorizes survives refusals and a lost link`()
            async throws
        {
            try await Bench.run { bench in
                bench.air.faults.add(.refuseConnections(8))
                bench.air.faults.add(.dropLink(insteadOf: .readResponses))
                try await bench.peripheral.withQueue { queue in
                    let queue =
                        queue
                        .connecting(timeout: .seconds(5))
                        .authorizing { try await $0.write(key, to: Bench.long) }
                    let value = try await queue.run(.read(Bench.readable).retry(.constant(.seconds(1), attempts: 10)))
                    #expect(Array(value) == [1, 2, 3])
                    // Let in on the link that was lost, and on the next one.
                    #expect(bench.writes == [key, key])
                }
            }
        }

        @Test func `a limit ends a command that takes too long, and the next one runs`() async throws {
            try await Bench.run { bench in
                try await bench.peripheral.withQueue { queue in
                    let queue = queue.connecting()
                    bench.air.faults.add(.swallow(.readResponses).times(1))
                    let late = await bleError { try await queue.run(.read(Bench.readable).timeout(.seconds(2))) }
                    #expect(late?.code == .timedOut && late?.operation.contains("read") == true)
                    try await queue.run(.write([1], to: Bench.long), deadline: .seconds(60))
                }
            }
        }

        @Test func `a command is cancelled while it waits and while it runs, and disturbs no other`() async throws {
            try await Bench.run { bench in
                try await bench.peripheral.withQueue { queue in
                    let queue = queue.connecting()
                    let endless = queue.enqueue(.wait(for: Bench.notifying, until: { _ in false }))
                    let waiting = queue.enqueue(.write([1], to: Bench.readable))
                    let last = queue.enqueue(.write([2], to: Bench.readable))
                    try await bench.time.sleep(for: .seconds(5))
                    #expect(waiting.cancel() && endless.cancel())
                    await #expect(throws: CancellationError.self) { _ = try await endless.value }
                    await #expect(throws: CancellationError.self) { try await waiting.value }
                    try await last.value
                    #expect(bench.writes.filter { $0.count == 1 } == [[2]])
                }
            }
        }

        @Test func `commands of a session run on its link while its streams go on`() async throws {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                try await bench.central.withSession(plan) { session in
                    var values = session.notifications(of: Bench.notifying).makeAsyncIterator()
                    _ = try await values.next()
                    bench.air.faults.add(.dropLink(insteadOf: .readResponses))
                    let value = try await session.queue.run(.read(Bench.readable).retry())
                    #expect(Array(value) == [1, 2, 3])
                    _ = try await values.next()
                }
            }
        }
    }
}
