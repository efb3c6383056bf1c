import Foundation
import Synchronization

/// The program.
public enum SimulationCommand {
    /// Does what the arguments say.
    ///
    /// - Returns: the exit status: 0 where all is well, 1 where a world has failed, 2 for a wrong call.
    public static func run(_ arguments: some Sequence<String>) async throws -> Int32 {
        let options: SimulationOptions
        do {
            options = try SimulationOptions(arguments, cores: ProcessInfo.processInfo.activeProcessorCount)
        } catch {
            note("\(error)")
            return 2
        }
        switch options.work {
        case .one(let plan, let isTraced): return await runOne(plan, isTraced)
        case .worker(let plan?, _, _):
            var known: Set<UInt64> = []
            await Worker.run(plan, &known)
            return 0
        case .worker(nil, let stride, let count):
            await Worker.run(from: options.first, stride: stride, count: count)
            return 0
        case .worlds(let count): return try await farm(options, worlds: count, until: nil)
        case .hours(let hours):
            return try await farm(options, worlds: nil, until: .now + .seconds(hours * 3600))
        case .soak(let soak): return try await run(soak, options.table)
        }
    }

    /// Writes a line beside what is the result.
    private static func note(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

    private static func runOne(_ plan: WorldPlan, _ isTraced: Bool) async -> Int32 {
        print(plan)
        let outcome = await plan.run(isTraced: isTraced)
        for line in outcome.trace { print(line) }
        print("\(outcome.elapsed) of virtual time, \(outcome.features.count) features")
        for problem in outcome.problems { print("\(problem.kind): \(problem.text)") }
        return outcome.hasFailed ? 1 : 0
    }

    // MARK: - Many

    private static func farm(
        _ options: SimulationOptions,
        worlds: Int?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Int32 {
        let farm = Farm(until: deadline, tell: note)
        let begin = ContinuousClock.now
        let kept = try options.corpus.map { try Corpus(file: $0) }
        try await farm.run(kept?.seeds ?? [])
        try await farm.run(from: options.first, worlds: worlds, jobs: options.jobs)
        let elapsed = (ContinuousClock.now - begin) / .seconds(1)
        let (count, hours) = (farm.worlds, Double(farm.virtualSeconds) / 3600)
        print(
            "\(count) worlds, \(rounded(hours)) virtual hours, \(farm.featureCount) features in \(rounded(elapsed)) s: "
                + "\(rounded(Double(count) / elapsed)) worlds and \(rounded(hours / elapsed)) virtual hours a second"
        )
        if let file = options.corpus, let kept {
            try kept.renewed(by: farm.corpus, judged: farm.judged).write(to: file)
        }
        let isFlat = tellHeap(farm)
        for cause in farm.idle { print("A process ended before its first world: \(cause)") }
        for failure in farm.failures { try await tell(failure) }
        return farm.failures.isEmpty && farm.idle.isEmpty && isFlat ? 0 : 1
    }

    /// So many octets a world may be what was measured wrong; what is kept of a world are hundreds at least.
    private static let flatSlope = 64

    private static func tellHeap(_ farm: Farm) -> Bool {
        let slopes = farm.slopes
        guard !slopes.isEmpty else { return true }
        print("heap in use, for each world more: \(slopes.map { "\($0)" }.joined(separator: ", ")) octets")
        return slopes.allSatisfy { $0 <= flatSlope }
    }

    private static func rounded(_ number: Double) -> String { String(format: "%.1f", number) }

    /// Prints how a world fails, and the smallest one that fails in the same way.
    private static func tell(_ failure: Farm.Failure) async throws {
        print("\nSeed \(failure.seed) fails:")
        for problem in failure.problems.prefix(5) { print("  \(problem.kind): \(problem.text)") }
        let kinds = Set(failure.problems.map(\.kind))
        let smallest = try await WorldPlan(seed: failure.seed).shrunk { plan in
            try await !kinds.isDisjoint(with: Self.kinds(of: plan))
        }
        print("\n\(smallest)\n\n  \(smallest.command)\n")
    }

    /// In which ways a world fails, in a process of its own.
    private static func kinds(of plan: WorldPlan) async throws -> Set<String> {
        let kinds = Mutex<Set<String>>([])
        let without = plan.removed.map(\.description).joined(separator: ",")
        let arguments = ["--seed", "\(plan.seed)", "--without", without, "--stride", "1", "--worker"]
        let crash = try await Child(arguments: arguments).run { report in
            if case .problem(_, let kind, _) = report { kinds.withLock { _ = $0.insert(kind) } }
            return true
        }
        if crash != nil { kinds.withLock { _ = $0.insert("crash") } }
        return kinds.withLock { $0 }
    }

    // MARK: - Soak

    private static func run(_ soak: Soak, _ table: String?) async throws -> Int32 {
        print(soak)
        let begin = ContinuousClock.now
        let outcome = try await soak.run { print($0.words) }
        print("\(outcome), in \(rounded((ContinuousClock.now - begin) / .seconds(60))) minutes")
        if let table { try outcome.table.write(toFile: table, atomically: true, encoding: .utf8) }
        for problem in outcome.problems { print("WRONG: \(problem)") }
        return outcome.problems.isEmpty ? 0 : 1
    }
}
