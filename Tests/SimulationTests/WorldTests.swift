import Foundation
import SimulatedWorlds
import Testing

/// Whole worlds, drawn from seeds. `SIMULATION_WORLDS=5000` runs so many; `swift run -c release Simulation` more, on
/// all cores.
@Suite(.timeLimit(.minutes(30))) struct WorldTests {
    private static let worlds =
        ProcessInfo.processInfo.environment["SIMULATION_WORLDS"].flatMap { UInt64($0) } ?? 120

    @Test func `whatever happens in a world, values are accounted for, everything ends, and nothing is left`()
        async throws
    {
        try await withThrowingTaskGroup(of: WorldOutcome.self) { group in
            var next = (1...Self.worlds).makeIterator()
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
                next.next().map { seed in group.addTask { await WorldPlan(seed: seed).run() } }
            }
            while let outcome = try await group.next() {
                let problems = outcome.problems.map { "\($0.kind): \($0.text)" }
                #expect(problems.isEmpty, "\(outcome.plan.command): \(problems.prefix(3))")
                next.next().map { seed in group.addTask { await WorldPlan(seed: seed).run() } }
            }
        }
    }

    @Test func `a world is the same each time`() async {
        let (first, second) = (
            await WorldPlan(seed: 12).run(isTraced: true), await WorldPlan(seed: 12).run(isTraced: true)
        )
        #expect(first.trace.count > 100 && first.trace == second.trace)
        #expect(first.features == second.features && first.elapsed == second.elapsed)
    }

    @Test func `a world without some of its parts is named by them, and is itself without them`() throws {
        let whole = WorldPlan(seed: 12)
        let part = try #require(whole.parts.first)
        let smaller = whole.removing(part)
        #expect(smaller.parts.count < whole.parts.count && smaller.command.contains("--without \(part)"))
        #expect(WorldPlan(seed: 12, without: [part]).description == smaller.description)
        #expect(whole.parts.allSatisfy { Part("\($0)") == $0 })
        #expect(Part("r1") == .restart(1) && Part("r") == nil)
        #expect(Part("x1") == nil && Part("c") == nil && Part("c1.x") == nil && Part("p1.2") == nil)
    }

    @Test func `what a failure doesn't need is taken away`() async throws {
        let needed: Set<Part> = [.program(1), .peripheral(5)]
        let whole = try #require((1...1000).lazy.map { WorldPlan(seed: $0) }.first { needed.isSubset(of: $0.parts) })
        let smallest = await whole.shrunk { needed.isSubset(of: $0.parts) }
        // A program needs the peripherals of its last step.
        #expect(smallest.parts.allSatisfy { !needed.isSubset(of: smallest.removing($0).parts) }, "\(smallest)")
        #expect(smallest.parts.count < 6 && whole.parts.count > 6)
        #expect(needed.isDisjoint(with: smallest.removed))
    }
}
