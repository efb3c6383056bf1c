import BLERadio
import BLESimulator
import Synchronization
import Testing

/// Many runs of one body.
@Suite(.timeLimit(.minutes(10))) struct ExploringTests {
    private struct Wrong: Error {}

    @Test func `each seed is run, and how many there were is told`() async throws {
        let seeds = Mutex<Set<UInt64>>([])
        let count = try await VirtualTime.explore(seeds: 5...24) { time in
            seeds.withLock { _ = $0.insert(time.seed) }
        }
        #expect(count == 20 && seeds.withLock { $0 } == Set(5...24))
    }

    @Test func `of the runs that fail, the shortest one is told`() async throws {
        let error = await #expect(throws: ExplorationError.self) {
            try await VirtualTime.explore(seeds: 1...30) { time in
                try await time.sleep(for: .seconds(Int(100 - time.seed)))
                if time.seed.isMultiple(of: 7) { throw Wrong() }
            }
        }
        #expect(error?.seed == 28 && error?.elapsed == .seconds(72) && error?.underlying is Wrong)
        #expect(error?.failures == 4 && error?.runs == 30)
        #expect(
            error?.description.hasPrefix("4 of 30 runs failed; the shortest one, with seed 28, after 72.0 seconds: ")
                == true
        )
    }

    @Test func `a run that waits for what never comes is a failure too`() async {
        let error = await #expect(throws: ExplorationError.self) {
            try await VirtualTime.explore(seeds: 1...1, limit: .seconds(60)) { time in
                while true { try await time.sleep(for: .seconds(1)) }
            }
        }
        #expect((error?.underlying as? VirtualTimeError)?.kind == .limitReached)
    }

    /// As when the time of its test is up.
    @Test func `a run that is cancelled from outside is no failure of its seed`() async {
        let (starts, started) = AsyncStream<Void>.makeStream()
        let error = await withTaskGroup(of: (any Error)?.self) { group in
            group.addTask {
                do {
                    try await VirtualTime.explore(seeds: 1...1) { _ in
                        started.yield()
                        let (nothing, silent) = AsyncStream<Void>.makeStream()
                        for await _ in nothing {}
                        withExtendedLifetime(silent) {}
                        try Task.checkCancellation()
                    }
                    return nil
                } catch {
                    return error
                }
            }
            for await _ in starts { break }
            group.cancelAll()
            return await group.next() ?? nil
        }
        #expect(error is CancellationError, "\(error as Any)")
    }

    @Test func `a fault is swept over each of its occasions`() async throws {
        let refused = Mutex<[Int]>([])
        let body: @Sendable (VirtualTime, Fault) async throws -> Void = { time, fault in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            air.faults.add(fault)
            let advertisement = far.advertise(AdvertiseRequest([])) { _ in }
            let listener = far.listen { _ in }
            defer {
                advertisement.cancel()
                listener.cancel()
            }
            for attempt in 0..<3 {
                let outcome = Mutex<Bool?>(nil)
                let connect = near.connect(to: far.address) { result in
                    outcome.withLock { $0 = (try? result.get()) != nil }
                }
                try await time.sleep(for: .seconds(2))
                connect.cancel()
                if outcome.withLock({ $0 }) == false { refused.withLock { $0.append(attempt) } }
                if outcome.withLock({ $0 }) == false, attempt == 2 { throw Wrong() }
            }
        }
        let error = await #expect(throws: ExplorationError.self) {
            try await VirtualTime.explore(sweeping: [.refuseConnections()], body)
        }
        #expect(refused.withLock { $0 } == [0, 1, 2])
        #expect(error?.fault == 0 && error?.step == 2 && error?.runs == 4 && error?.failures == 1)
    }

    @Test func `jobs that run late run all the same, and alike with the same seed`() async throws {
        let orders = try await [1, 1, 2].mapped { seed in
            try await VirtualTime.run(seed: seed, order: .delayed(upTo: .milliseconds(40))) { time in
                try await withThrowingTaskGroup(of: (Int, Duration).self) { group in
                    for index in 0..<60 {
                        group.addTask {
                            await Task.yield()
                            return (index, time.now)
                        }
                    }
                    var all: [(Int, Duration)] = []
                    for try await one in group { all.append(one) }
                    return all
                }
            }
        }
        #expect(orders[0].map(\.0) == orders[1].map(\.0) && orders[0].map(\.1) == orders[1].map(\.1))
        #expect(orders[0].map(\.0) != orders[2].map(\.0) && orders[0].map(\.0).sorted() == Array(0..<60))
        let latest = try #require(orders[0].map(\.1).max())
        #expect(latest > .zero && latest < .seconds(1))
    }
}

extension [UInt64] {
    fileprivate func mapped<Output>(_ body: (UInt64) async throws -> Output) async rethrows -> [Output] {
        var all: [Output] = []
        for element in self { all.append(try await body(element)) }
        return all
    }
}
