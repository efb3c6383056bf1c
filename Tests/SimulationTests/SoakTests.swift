import SimulatedWorlds
import Testing

/// A few days of what `swift run -c release Simulation --soak` does for a year. Memory is compared in a process of its
/// own.
@Suite(.timeLimit(.minutes(10))) struct SoakTests {
    @Test func `for three days, each value that reaches the socket is taken, in order, and counted`() async throws {
        var soak = Soak(seed: 3)
        (soak.days, soak.sensors) = (3, 8)
        let outcome = try await soak.run()
        #expect(outcome.valueProblems.isEmpty, "\(outcome.problems)")
        let last = try #require(outcome.samples.last)
        #expect(outcome.samples.count == 12 && last.taken > 2_500 && last.arrived - last.taken <= 8)
        #expect(outcome.table.split(separator: "\n").count == 13)
    }
}
