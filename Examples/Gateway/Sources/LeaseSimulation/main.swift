// Runs worlds of gateways that share sensors by leases, each drawn from its seed. See LEASES.md.
//
//   swift run -c release --package-path Examples/Gateway LeaseSimulation
//   … LeaseSimulation --gateways 1000 --sensors 100000 --hours 1 --worlds 1
//   … LeaseSimulation --seed 7 --worlds 1 --trace

import LeaseWorld

#if canImport(Glibc)
    import Glibc
#endif

do {
    let command = try WorldCommand(CommandLine.arguments.dropFirst())
    exit(run(command))
} catch {
    print(error)
    exit(2)
}

func run(_ command: WorldCommand) -> Int32 {
    var measures = WorldMeasures()
    var failures = 0
    let elapsed = ContinuousClock().measure {
        for seed in command.seed..<command.seed + UInt64(command.worlds) {
            let world = LeaseWorld(command.plan(seed), isTraced: command.isTraced)
            world.run()
            measures.add(world.measures)
            for line in world.trace { print(line) }
            guard let finding = world.findings.first else { continue }
            failures += 1
            if failures <= 5 { explain(finding, seed, command) }
        }
    }
    summarize(measures, command, failures, elapsed)
    return failures == 0 ? 0 : 1
}

/// Prints what was wrong, how to see it again, and the last lines about the sensor.
func explain(_ finding: WorldFinding, _ seed: UInt64, _ command: WorldCommand) {
    print("seed \(seed): \(finding.kind.rawValue): \(finding.text), at \(Double(finding.time) / 1000) s")
    print("  replay: \(command.replay(seed))")
    guard !command.isTraced else { return }
    let plan = command.plan(seed)
    guard plan.sensors <= 1000 else { return }
    let world = LeaseWorld(plan, isTraced: true)
    world.run()
    let lines = world.trace.filter { line in
        !line.contains("sensor ") || line.contains("sensor \(finding.sensor):") || line.contains("WRONG")
    }
    for line in lines.suffix(16) { print("  \(line)") }
}

func summarize(_ measures: WorldMeasures, _ command: WorldCommand, _ failures: Int, _ elapsed: Duration) {
    let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
    let hours = Double(measures.sensorTime) / 3_600_000
    let calm = max(Double(measures.calmTime) / 3_600_000, .leastNonzeroMagnitude)
    func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
    print("worlds              \(command.worlds), from seed \(command.seed); \(failures) failed")
    print("seeds per second    \(rounded(Double(command.worlds) / seconds)); \(rounded(seconds)) s")
    print("events              \(measures.events); \(Int(Double(measures.events) / seconds)) per second")
    print("broker              took \(measures.published) messages, handed out \(measures.delivered)")
    print("first owners        \(measures.firsts)")
    print("take-overs          \(times(measures.takeOvers))")
    print("pauses of an owner  \(times(measures.pauses))")
    print("changes of owner    \(rounded(Double(measures.takeOvers.count) / hours)) per hour and sensor")
    print("without faults      \(rounded(Double(measures.calmChanges) / calm)) per hour and sensor")
    print("epochs forgotten    \(measures.forgotten): the broker lost them, and nobody in touch knew them")
}

/// How many, and how long: nobody acts for that time.
func times(_ values: [Int64]) -> String {
    let sorted = values.sorted()
    guard let longest = sorted.last else { return "none" }
    func seconds(_ value: Int64) -> String { "\(Double(value) / 1000) s" }
    let late = sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    return "\(sorted.count): median \(seconds(sorted[sorted.count / 2])), p99 \(seconds(late)), max \(seconds(longest))"
}
