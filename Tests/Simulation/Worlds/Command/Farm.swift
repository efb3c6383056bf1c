import Foundation
import Synchronization

/// Runs worlds on all cores, each process with seeds of its own, and keeps what came of them.
final class Farm: Sendable {
    struct Failure: Sendable {
        let seed: UInt64
        var problems: [(kind: String, text: String)]
    }

    private struct State {
        var worlds = 0
        var seconds = 0
        var features: Set<UInt64> = []
        /// The seeds that have reached something first, and how much.
        var corpus: [(seed: UInt64, features: Int)] = []
        var failures: [UInt64: Failure] = [:]
        var heaps: [Int: [Int]] = [:]
        /// The world that each process has begun last; none where it hasn't begun one yet.
        var current: [Int: UInt64] = [:]
        /// The kept seeds whose worlds have come to their end, and not failed.
        var judged: Set<UInt64> = []
        /// What stopped processes before their first world.
        var idle: [String] = []
    }

    /// Runs a process with arguments to its end, or until what hears it answers `false`; returns how it was stopped
    /// where it was.
    typealias Process = @Sendable ([String], @escaping @Sendable (WorldReport) -> Bool) async throws -> String?

    private let state = Mutex(State())
    private let deadline: ContinuousClock.Instant?
    private let tell: @Sendable (String) -> Void
    private let process: Process

    /// So many failures are enough.
    private static let enough = 5

    /// How many worlds there are between two lines of progress.
    private static let progressEvery = 10_000

    /// - Parameters:
    ///   - deadline: when it is enough.
    ///   - process: runs worlds.
    ///   - tell: hears of each failure as it is found, and now and then how far it is: a farm runs for hours, and may
    ///     be ended before it is done.
    init(
        until deadline: ContinuousClock.Instant?,
        process: @escaping Process = { try await Child(arguments: $0).run($1) },
        tell: @escaping @Sendable (String) -> Void
    ) {
        (self.deadline, self.process, self.tell) = (deadline, process, tell)
    }

    var failures: [Failure] { state.withLock { $0.failures.values.sorted { $0.seed < $1.seed } } }
    var corpus: [(seed: UInt64, features: Int)] { state.withLock { $0.corpus } }
    var judged: Set<UInt64> { state.withLock { $0.judged } }
    var idle: [String] { state.withLock { $0.idle } }
    var worlds: Int { state.withLock { $0.worlds } }
    var virtualSeconds: Int { state.withLock { $0.seconds } }
    var featureCount: Int { state.withLock { $0.features.count } }

    /// By how many octets the heap in use grew with each world, in the second half of each process's worlds.
    var slopes: [Int] {
        state.withLock { state in
            state.heaps.sorted { $0.key < $1.key }.compactMap { _, heaps in
                HeapGrowth(samples: heaps, worldsPerSample: Worker.heapEvery).perWorld
            }
        }
    }

    /// Runs the worlds of the seeds from the first one on.
    func run(from first: UInt64, worlds: Int?, jobs: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for job in 0..<jobs {
                group.addTask {
                    let share = worlds.map { ($0 + jobs - 1 - job) / jobs }
                    try await self.work(job, first + UInt64(job), stride: jobs, count: share)
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs these ones, until it is enough.
    func run(_ seeds: [UInt64]) async throws {
        for seed in seeds where !isEnough {
            _ = try await run(["--worlds", "1", "--stride", "1", "--from", "\(seed)"], job: Self.keeper)
        }
    }

    /// The job that runs the kept seeds.
    private static let keeper = -1

    /// One process after the other: one that is stopped has a failed world, and the next one goes on behind it.
    private func work(_ job: Int, _ first: UInt64, stride: Int, count: Int?) async throws {
        var (next, left) = (first, count ?? .max)
        while left > 0, !isEnough {
            let arguments = ["--from", "\(next)", "--stride", "\(stride)", "--worlds", "\(left)"]
            guard let seed = try await run(arguments, job: job) else { return }
            let done = Int((seed - next) / UInt64(stride)) + 1
            next = seed + UInt64(stride)
            left -= done
        }
    }

    /// - Returns: the seed at which the process was stopped; `nil` where it was not, or before its first world: the next
    ///   one would be stopped there, too.
    private func run(_ arguments: [String], job: Int) async throws -> UInt64? {
        // That of an earlier process isn't this one's.
        state.withLock { $0.current[job] = nil }
        let crash = try await process(arguments + ["--worker"]) { self.take($0, job) }
        guard let crash else { return nil }
        return state.withLock { state in
            guard let seed = state.current[job] else {
                state.idle.append(crash)
                return nil
            }
            state.failures[seed, default: Failure(seed: seed, problems: [])].problems.append(("crash", crash))
            return seed
        }
    }

    private func take(_ report: WorldReport, _ job: Int) -> Bool {
        let news: String? = state.withLock { state in
            switch report {
            case .begins(let seed): state.current[job] = seed
            case .heap(let octets): state.heaps[job, default: []].append(octets)
            case .problem(let seed, let kind, let text):
                state.failures[seed, default: Failure(seed: seed, problems: [])].problems.append((kind, text))
                return "seed \(seed) fails: \(kind): \(text)"
            case .ends(let seed, let seconds, let features):
                state.worlds += 1
                state.seconds += seconds
                if job == Self.keeper, state.failures[seed] == nil { state.judged.insert(seed) }
                let new = features.filter { state.features.insert($0).inserted }
                if !new.isEmpty { state.corpus.append((seed, new.count)) }
                if state.worlds.isMultiple(of: Self.progressEvery) {
                    return "\(state.worlds) worlds, \(state.failures.count) have failed"
                }
            }
            return nil
        }
        if let news { tell(news) }
        return !isEnough
    }

    private var isEnough: Bool {
        deadline.map { ContinuousClock.now >= $0 } == true || state.withLock { $0.failures.count >= Self.enough }
    }
}
