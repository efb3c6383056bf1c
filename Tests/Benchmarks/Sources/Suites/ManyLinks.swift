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

    @MainActor
    func run(_ runs: Int) async throws -> [Row] {
        let runs = min(runs, 3)
        var (weights, factors, costs, manyCosts): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        var peak = 0.0
        for _ in 0..<runs {
            let alone = try await measure(few, notifications: 200_000 / few)
            CBenchmarks_resetPeakMemory()
            let crowded = try await measure(many, notifications: 200_000 / many)
            peak = max(peak, Double(CBenchmarks_peakMemory()))
            weights.append(crowded.octetsPerLink)
            costs.append(alone.cost)
            manyCosts.append(crowded.cost)
            factors.append(crowded.cost / alone.cost)
        }
        return [
            Row(suite, "an idle link of 10,000", .memory, weights, goal: .atMost(6 * 1024), peakMemory: peak),
            Row(suite, "a notification with 10 links, both sides", .cost, costs),
            Row(suite, "a notification with 10,000 links, both sides", .cost, manyCosts),
            Row(suite, "how often the one costs the other", .factor, factors, goal: .atMost(1.5)),
        ]
    }

    struct Outcome {
        /// What a link needs that is connected and discovered and does nothing, on both sides.
        var octetsPerLink: Double
        /// Microseconds of processor time for a notification, from its sender to its consumer.
        var cost: Double
    }

    @concurrent private func measure(_ links: Int, notifications count: Int) async throws -> Outcome {
        try await VirtualTime.run(order: .firstInFirstOut, patience: .seconds(120)) { time in
            let air = SimulatedAir(time)
            let central = try await Central.open(.radio(air.adapter()))
            let peripherals = (0..<links).map { _ in
                NotifyingPeripheral(on: air.adapter(), time: time, count: count, begin: .seconds(1000))
            }
            let before = CBenchmarks_allocatedOctets()
            let progress = Progress(links)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                for peripheral in peripherals {
                    let address = peripheral.adapter.address
                    group.addTask {
                        try await central.peripheral(address).withLink(timeout: .seconds(400)) { link in
                            _ = try await link.discover()
                            try await time.sleep(for: .seconds(800) - time.now)
                            var received = 0
                            for try await value in link.notifications(ofHandle: 3) {
                                precondition(value.count == 20, "a notification was cut")
                                received += 1
                                if received == count { break }
                            }
                            progress.finished()
                        }
                    }
                }
                try await time.sleep(for: .seconds(700) - time.now)
                let idle = CBenchmarks_allocatedOctets()
                try await time.sleep(for: .seconds(999) - time.now)
                let begin = CBenchmarks_processorTime()
                try await group.waitForAll()
                let octets = Double(Int(idle) - Int(before)) / Double(links)
                let cost = Double(progress.end - begin) / Double(links * count) / 1000
                return Outcome(octetsPerLink: octets, cost: cost)
            }
        }
    }
}

/// Notes when the last of many consumers has had all.
private final class Progress: Sendable {
    private let state: Mutex<(left: Int, end: UInt64)>

    init(_ count: Int) { state = Mutex((count, 0)) }

    var end: UInt64 { state.withLock { $0.end } }

    func finished() {
        state.withLock { state in
            state.left -= 1
            if state.left == 0 { state.end = CBenchmarks_processorTime() }
        }
    }
}
