import Synchronization
import Testing

@testable import SimulatedWorlds

/// What a farm keeps of the worlds that its processes run, and of those that they don't.
@Suite struct FarmTests {
    /// A farm whose processes tell what a script says.
    private static func farm(_ process: @escaping Farm.Process) -> Farm { Farm(until: nil, process: process) { _ in } }

    /// The value of an argument.
    private static func value(_ name: String, _ arguments: [String]) -> UInt64? {
        arguments.firstIndex(of: name).flatMap { UInt64(arguments[$0 + 1]) }
    }

    /// What the line says of a world: that it begins, and ends with these features.
    private static func run(_ seed: UInt64, _ features: [UInt64], _ take: (WorldReport) -> Bool) -> Bool {
        take(.begins(seed)) && take(.ends(seed, seconds: 1, features: features))
    }

    @Test func `a kept seed whose world fails, or that a farm doesn't get to, is kept`() async throws {
        let kept = Corpus((7...14).map { ($0, 2) })
        let farm = Self.farm { arguments, take in
            let seed = try #require(Self.value("--from", arguments))
            // The second one reaches nothing new.
            if seed < 9 { _ = Self.run(seed, [1], take) }
            // A world that fails comes to its end, unless it is stopped.
            if seed >= 9, take(.begins(seed)), take(.problem(seed, kind: "lost", text: "a value")) {
                _ = take(.ends(seed, seconds: 1, features: [1]))
            }
            return nil
        }
        try await farm.run(kept.seeds)
        // Five failures are enough.
        #expect(farm.failures.map(\.seed) == [9, 10, 11, 12, 13] && farm.judged == [7, 8])
        #expect(kept.renewed(by: farm.corpus, judged: farm.judged).seeds == [9, 10, 11, 12, 13, 14, 7])
    }

    @Test func `a process that is stopped before its first world is told`() async throws {
        let farm = Self.farm { _, _ in "no memory" }
        try await farm.run(from: 1, worlds: 4, jobs: 2)
        #expect(farm.idle == ["no memory", "no memory"] && farm.failures.isEmpty && farm.worlds == 0)
    }

    @Test func `the world of an earlier process has not stopped a later one`() async throws {
        let count = Mutex(0)
        let farm = Self.farm { arguments, take in
            let seed = try #require(Self.value("--from", arguments))
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst, Self.run(seed, [1], take) { _ = take(.begins(seed + 1)) }
            return "no memory"
        }
        try await farm.run(from: 1, worlds: 4, jobs: 1)
        #expect(farm.failures.map(\.seed) == [2] && farm.idle == ["no memory"] && count.withLock { $0 } == 2)
    }
}
