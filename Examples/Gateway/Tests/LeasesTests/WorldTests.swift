import LeaseWorld
import Leases
import Testing

@Suite("Worlds")
struct WorldTests {
    @Test("In small worlds with all faults, every invariant holds", arguments: 0..<12)
    func hold(group: Int) {
        for seed in UInt64(group * 10)..<UInt64(group * 10 + 10) {
            let world = LeaseWorld(WorldPlan(seed: seed))
            world.run()
            #expect(world.findings == [], "seed \(seed)")
            #expect(world.measures.firsts > 0, "seed \(seed)")
        }
    }

    @Test("In a world of 40 gateways and 2,000 sensors too")
    func larger() {
        let world = LeaseWorld(WorldPlan(seed: 3, gateways: 40, sensors: 2000, hours: 0.5))
        world.run()
        #expect(world.findings == [])
        #expect(world.measures.firsts == 2000)
        #expect(!world.measures.takeOvers.isEmpty)
    }

    @Test("The same seed gives the same world")
    func isDeterministic() {
        let worlds = (0..<2).map { _ in LeaseWorld(WorldPlan(seed: 11), isTraced: true) }
        for world in worlds { world.run() }
        #expect(worlds[0].trace == worlds[1].trace)
        #expect(!worlds[0].trace.isEmpty)
    }

    @Test("A rule that is left out is found, with the seed", arguments: PlantedBug.all)
    func finds(_ bug: PlantedBug) throws {
        let found = (UInt64(0)..<120).lazy.compactMap { seed -> (UInt64, WorldFinding)? in
            let world = LeaseWorld(bug.plan(seed))
            world.run()
            return world.findings.first.map { (seed, $0) }
        }
        let (seed, finding) = try #require(found.first)
        #expect(bug.kinds.contains(finding.kind), "\(finding)")
        print("without \(bug.name): seed \(seed): \(finding.kind.rawValue): \(finding.text)")

        // The same seed finds it again; with all rules, the same world is right.
        let again = LeaseWorld(bug.plan(seed))
        again.run()
        #expect(again.findings.first == finding)
        let right = LeaseWorld(WorldPlan(seed: seed))
        right.run()
        #expect(right.findings == [])
    }

    @Test("Without its memory, a gateway brings epochs back that consumers have left behind")
    func regresses() {
        var plan = WorldPlan(seed: 0)
        var kinds: Set<WorldFinding.Kind> = []
        for seed in UInt64(0)..<60 where kinds.isDisjoint(with: [.lowerEpoch, .reusedEpoch]) {
            plan = WorldPlan(seed: seed)
            plan.rules.remembersEpochs = false
            let world = LeaseWorld(plan)
            world.run(stopsAtFinding: false)
            kinds.formUnion(world.findings.map(\.kind))
        }
        #expect(!kinds.isDisjoint(with: [.lowerEpoch, .reusedEpoch]))
    }
}

/// A rule that is left out, and what that must lead to.
struct PlantedBug: CustomTestStringConvertible, Sendable {
    var name: String
    var kinds: Set<WorldFinding.Kind>
    var rules: LeaseRules

    init(_ name: String, _ kinds: Set<WorldFinding.Kind>, _ leaveOut: (inout LeaseRules) -> Void) {
        self.name = name
        self.kinds = kinds
        rules = LeaseRules()
        leaveOut(&rules)
    }

    static let all = [
        PlantedBug("waiting for the echo", [.twoOwners]) { $0.waitsForEcho = false },
        PlantedBug("comparing predecessors", [.twoOwners, .lowerEpoch]) { $0.comparesPredecessors = false },
        PlantedBug("listening", [.twoOwners, .lowerEpoch]) { $0.listens = false },
        PlantedBug("stopping when unconfirmed", [.twoOwners]) { $0.stopsUnconfirmed = false },
        PlantedBug("remembering epochs", [.unreserved]) { $0.remembersEpochs = false },
        PlantedBug("storing before claiming", [.unreserved]) { $0.storesBeforeClaiming = false },
    ]

    var testDescription: String { "without \(name)" }

    func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan(seed: seed)
        plan.rules = rules
        return plan
    }
}
