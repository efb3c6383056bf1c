import Leases
import LeaseWorld
func go(_ name: String, _ change: (inout LeaseRules) -> Void, _ n: Int = 200) {
    var rules = LeaseRules(); change(&rules)
    var m = WorldMeasures(); var found: [String: [Int]] = [:]
    for seed in 0..<n { var p = WorldPlan(seed: UInt64(seed)); p.rules = rules; let w = LeaseWorld(p); w.run(); m.add(w.measures); if let f = w.findings.first { found[f.kind.rawValue, default: []].append(seed) } }
    let t = m.takeOvers.sorted()
    print(name, found.mapValues { ($0.count, $0.first!) }, "firsts", m.firsts, "takeovers", t.count, t.isEmpty ? 0 : t[t.count/2], t.isEmpty ? 0 : t[t.count*99/100], t.last ?? 0, "pauses", m.pauses.count, "forgotten", m.forgotten, "events", m.events, "pub", m.published, m.delivered)
}
go("correct", { _ in })
go("echo") { $0.waitsForEcho = false }
go("compare") { $0.comparesPredecessors = false }
go("listens") { $0.listens = false }
go("unconfirmed") { $0.stopsUnconfirmed = false }
go("remembers") { $0.remembersEpochs = false }
go("stores") { $0.storesBeforeClaiming = false }
