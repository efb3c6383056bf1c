import CLibrary
import HeapInUse

/// Runs worlds one after the other, and tells on standard output what came of each.
enum Worker {
    /// How many worlds lie between two looks at the heap.
    static let heapEvery = 50

    static func run(from first: UInt64, stride: Int, count: Int) async {
        // Room for all that there may be: what this process notes must not count as what a world has left.
        var known = Set<UInt64>(minimumCapacity: 1 << 14)
        for index in 0..<count {
            let plan = WorldPlan(seed: first &+ UInt64(index) &* UInt64(stride))
            await run(plan, &known)
            if index % heapEvery == heapEvery - 1 { tell(.heap(heapInUse())) }
        }
    }

    /// Runs one, which may be a smaller one.
    static func run(_ plan: WorldPlan, _ known: inout Set<UInt64>) async {
        tell(.begins(plan.seed))
        let outcome = await plan.run()
        for problem in outcome.problems { tell(.problem(plan.seed, kind: problem.kind, text: problem.text)) }
        let new = outcome.featureNumbers.filter { known.insert($0).inserted }
        tell(.ends(plan.seed, seconds: Int(outcome.elapsed.components.seconds), features: new))
    }

    private static func tell(_ report: WorldReport) {
        print(report.line)
        fflush(nil)
    }

    /// How many octets of the heap are in use.
    static func heapInUse() -> Int { Int(HeapInUse_octets()) }
}
