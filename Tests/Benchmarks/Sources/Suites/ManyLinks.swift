import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import CBenchmarks
import Synchronization

/// Many simulated links in one process: what an idle one weighs, and what a notification costs on one of many.
///
/// In virtual time, so that each link brings as many values in a connection event whether there are few or many.
struct ManyLinks {
    private let suite = "links"
    private let many = 10_000
    private let few = 10
    /// So many that what a link does once in its life counts for little.
    private let total = 1_000_000

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        let runs = min(runs, 3)
        var rows: [Row] = []
        for program in [Program.merged, .tasks] {
            var (weights, factors, costs, manyCosts): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
            var peak = 0.0
            for _ in 0..<runs {
                let alone = try await measure(few, program)
                CBenchmarks_resetPeakMemory()
                let crowded = try await measure(many, program)
                peak = max(peak, Double(CBenchmarks_peakMemory()))
                weights.append(crowded.octetsPerLink)
                costs.append(alone.cost)
                manyCosts.append(crowded.cost)
                factors.append(crowded.cost / alone.cost)
            }
            let (name, isGoal) = (program.rawValue, program == .merged)
            rows += [
                Row(suite, "an idle link of 10,000, \(name)", .memory, weights, goal: isGoal ? .atMost(6 * 1024) : nil),
                Row(suite, "  a notification with 10 links", .cost, costs),
                Row(suite, "  a notification with 10,000 links", .cost, manyCosts, peakMemory: peak),
                Row(suite, "  how often the one costs the other", .factor, factors, goal: isGoal ? .atMost(1.5) : nil),
            ]
        }
        return rows
    }

    /// How a program uses many links.
    enum Program: String {
        /// All streams merged into one, for one consumer.
        case merged = "merged into one loop"
        /// A task for each link, whose own memory counts too.
        case tasks = "each in a task"
    }

    struct Outcome {
        /// What a link needs that is connected, discovered and subscribed to and brings nothing, on both sides.
        var octetsPerLink: Double
        /// Microseconds of processor time for a notification, from its sender to its consumer, on both sides.
        var cost: Double
    }

    @concurrent private func measure(_ links: Int, _ program: Program) async throws -> Outcome {
        let count = total / links
        return try await VirtualTime.run(order: .firstInFirstOut, patience: .seconds(120)) { time in
            let air = SimulatedAir(time)
            let central = try await Central.open(.radio(air.adapter()))
            let devices = (0..<links).map { _ in
                NotifyingPeripheral(on: air.adapter(), time: time, count: count, begin: .seconds(1000))
            }
            let peripherals = devices.map { central.peripheral($0.adapter.address) }
            let before = CBenchmarks_allocatedOctets()
            let progress = Progress(links * count)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                switch program {
                case .merged:
                    group.addTask {
                        let all = peripherals.merged { $0.stream(timeout: .seconds(400)) { $0.values } }
                        for try await (_, value) in all where progress.took(value) { break }
                    }
                case .tasks:
                    for peripheral in peripherals {
                        group.addTask {
                            try await peripheral.withLink(timeout: .seconds(400)) { link in
                                for try await value in link.values.prefix(count) { _ = progress.took(value) }
                            }
                        }
                    }
                }
                try await time.sleep(for: .seconds(900) - time.now)
                let idle = CBenchmarks_allocatedOctets()
                try await time.sleep(for: .seconds(999) - time.now)
                let begin = CBenchmarks_processorTime()
                try await group.waitForAll()
                // They are there only while somebody has them.
                withExtendedLifetime(devices) {}
                let octets = Double(Int(idle) - Int(before)) / Double(links)
                let cost = Double(progress.end - begin) / Double(links * count) / 1000
                return Outcome(octetsPerLink: octets, cost: cost)
            }
        }
    }
}

extension Link {
    /// What a ``NotifyingPeripheral`` sends.
    fileprivate var values: BLEStream<CharacteristicValue> { notifications(of: .handle(3)) }
}

/// Notes when the last value has been taken.
private final class Progress: Sendable {
    private let left: Atomic<Int>
    private let whenDone = Atomic<UInt64>(0)

    init(_ count: Int) { left = Atomic(count) }

    /// The processor time at which the last value was taken.
    var end: UInt64 { whenDone.load(ordering: .acquiring) }

    /// Whether it was the last one.
    func took(_ value: CharacteristicValue) -> Bool {
        precondition(value.count == 20, "a notification was cut")
        guard left.wrappingSubtract(1, ordering: .relaxed).newValue == 0 else { return false }
        whenDone.store(CBenchmarks_processorTime(), ordering: .releasing)
        return true
    }
}
