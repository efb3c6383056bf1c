import BLERadio
import BLESimulator
import Testing

@Suite(.timeLimit(.minutes(10))) struct VirtualTimeSeedTests {
    /// Ten tasks that get into each other's way, and what each of them saw.
    private func history(seed: UInt64, order: JobOrder = .shuffled) async throws -> [String] {
        try await VirtualTime.run(seed: seed, order: order) { time in
            let log = Log<String>()
            try await withThrowingTaskGroup { group in
                for number in 0..<10 {
                    group.addTask {
                        for round in 0..<5 {
                            log.append("\(number).\(round) at \(time.now)")
                            await Task.yield()
                            try await time.sleep(for: .milliseconds(time.randomBits() % 3))
                        }
                    }
                }
                try await group.waitForAll()
            }
            return log.values
        }
    }

    @Test(arguments: [1, 2, 3, 99] as [UInt64])
    func `the same seed gives the same history`(seed: UInt64) async throws {
        let first = try await history(seed: seed)
        for _ in 0..<10 { #expect(try await history(seed: seed) == first) }
    }

    @Test func `different seeds give different histories`() async throws {
        var histories: Set<[String]> = []
        for seed in 0..<20 as Range<UInt64> { histories.insert(try await history(seed: seed)) }
        #expect(histories.count == 20)
    }

    @Test func `first in first out runs tasks as they were added, whatever the seed`() async throws {
        for seed in 0..<5 as Range<UInt64> {
            let begun = try await history(seed: seed, order: .firstInFirstOut).prefix(10)
            #expect(begun.elementsEqual((0..<10).map { "\($0).0 at 0.0 seconds" }))
        }
    }

    @Test func `random bits follow the seed alone`() async throws {
        func bits(_ seed: UInt64) async throws -> [UInt64] {
            try await VirtualTime.run(seed: seed) { time in (0..<4).map { _ in time.randomBits() } }
        }
        let first = try await bits(5)
        #expect(try await bits(5) == first)
        #expect(try await bits(6) != first)
        #expect(Set(first).count == 4)
    }
}
