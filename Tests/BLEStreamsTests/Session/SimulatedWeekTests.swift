import BLERadio
import BLESimulator
import BLEStreams
import Foundation
import Synchronization
import Testing

/// A week with a peripheral that dies and returns at random, in virtual time; each seed is another week.
///
/// `SESSION_SEEDS=1000 swift test -c release -Xswiftc -enable-testing --filter SimulatedWeekTests` runs as many as are
/// wanted, and measures memory.
@Suite(.serialized) struct SimulatedWeekTests {
    private static let wantedSeeds = ProcessInfo.processInfo.environment["SESSION_SEEDS"].flatMap { Int($0) }
    private static let seeds = wantedSeeds ?? 5
    private static let week = Duration.seconds(7 * 86_400)
    private static let number = BluetoothUUID(0xA003)

    private static let sensor = LocalPeripheral(name: "Sensor") {
        LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(number, [.notify]) }
    }

    /// What came out of one week.
    private struct Result: Sendable {
        var numbers: [UInt32] = []
        var gaps: [StreamGap] = []
        var transitions: [Session.Transition] = []
    }

    @Test func `nothing that arrived is lost or comes twice, each gap is told, and pauses follow the policy`()
        async throws
    {
        for seed in 1...UInt64(Self.seeds) {
            let (result, arrived) = try await Self.live(seed)
            Self.check(result, arrived, seed)
        }
    }

    /// In a process of its own, in which nothing else runs: what is resident is measured.
    @Test(.enabled(if: wantedSeeds != nil)) func `memory is flat over two months`() async {
        await #expect(processExitsWith: .success) {
            SimulatedWeekTests.stopObservingErrors()
            let sizes = try await SimulatedWeekTests.sizesOfTwoMonths()
            // In the first week tables and buffers find their sizes. From then on not a page more was measured here,
            // and two of them in 24 weeks outside of any test.
            #expect(sizes.count == 8 && sizes[7] - sizes[1] < 16, "resident after each week, in KiB: \(sizes)")
        }
    }

    /// Has Swift Testing observe no error that is thrown in this process from now on: it keeps a backtrace of each
    /// until the test has ended, some 300 KiB a week here. The runtime's variables for that are what it sets itself.
    private static func stopObservingErrors() {
        for name in ["_swift_willThrow", "_swift_willThrowTypedImpl"] {
            dlsym(nil, name)?.storeBytes(of: nil, as: UnsafeRawPointer?.self)
        }
    }

    /// How much is resident after each of eight weeks, in KiB.
    private static func sizesOfTwoMonths() async throws -> [Int] {
        try await VirtualTime.run(limit: week * 9) { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter(settings: AdapterSettings(advertisingInterval: .seconds(1))))
            air.faults.add(.loseLinks(every: .seconds(2_000)))
            let central = try await Central.open(.radio(near))
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await sense(on: far, time) }
                group.addTask { try await die(far, air, time) }
                let plan = Session.Plan(far.address).subscribing(to: number)
                let sizes = try await central.withSession(plan) { session in
                    var sizes: [Int] = []
                    for try await _ in session.notifications(of: number) where time.now >= week * (sizes.count + 1) {
                        sizes.append(try residentKilobytes())
                        if sizes.count == 8 { break }
                    }
                    return sizes
                }
                group.cancelAll()
                return sizes
            }
        }
    }

    private static func residentKilobytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(Int(fields[1])) * 4
    }

    private static func live(_ seed: UInt64) async throws -> (Result, [UInt32]) {
        try await VirtualTime.run(seed: seed, limit: week + .seconds(86_400)) { time in
            let air = SimulatedAir(time)
            // A battery lasts longer like this, and a week has fewer events.
            let (near, far) = (air.adapter(), air.adapter(settings: AdapterSettings(advertisingInterval: .seconds(1))))
            // All that reaches the socket: notifications that arrive on the air at the central.
            let arrived = Mutex<[UInt32]>([])
            air.faults.add(
                .replace(.notifications) { octets in
                    arrived.withLock { $0.append(UInt32(octets: octets.dropFirst(3))) }
                    return octets
                }
            )
            air.faults.add(.loseLinks(every: .seconds(20_000)))
            air.faults.add(.missAdvertisements(0.2))
            let central = try await Central.open(.radio(near))
            let result = try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await sense(on: far, time) }
                group.addTask { try await die(far, air, time) }
                let result = try await follow(far.address, central, time)
                group.cancelAll()
                return result
            }
            guard near.activity.isIdle else {
                Issue.record("seed \(seed): \(near.activity) is left behind")
                return (result, [])
            }
            return (result, arrived.withLock { $0 })
        }
    }

    /// Sends a number every few minutes to whoever listens; they go on over all links.
    private static func sense(on adapter: SimulatedAdapter, _ time: VirtualTime) async throws {
        let next = Mutex<UInt32>(0)
        while true {
            // Its adapter dies now and then: it begins anew when that is back.
            do {
                try await sensor.run(on: .radio(adapter)) { server in
                    while true {
                        try await time.sleep(for: .seconds(200 + Int(time.randomBits() % 400)))
                        try await server.notify(next.withLock { $0 }.octets, of: number)
                        next.withLock { $0 += 1 }
                    }
                }
            } catch is BLEError {
                try await time.sleep(for: .seconds(5))
            }
        }
    }

    /// Switches the sensor off and on at random, and takes it out of range.
    private static func die(_ adapter: SimulatedAdapter, _ air: SimulatedAir, _ time: VirtualTime) async throws {
        // The plan keeps each rule, so that it can be asked how often it has struck.
        var faults: [FaultID] = []
        while true {
            try await time.sleep(for: .seconds(3600 + Int(time.randomBits() % 40_000)))
            for fault in faults { air.faults.remove(fault) }
            faults = []
            let absence = Duration.seconds(1 + Int(time.randomBits() % 1800))
            switch time.randomBits() % 3 {
            case 0: adapter.powerOff()
            case 1: adapter.unplug()
            default: faults.append(air.faults.add(.outOfRange(lasting: absence), on: adapter))
            }
            try await time.sleep(for: absence)
            adapter.powerOn()
            if time.randomBits() % 4 == 0 {
                faults.append(air.faults.add(.refuseConnections(Int(time.randomBits() % 8))))
            }
        }
    }

    private static func follow(
        _ address: BluetoothAddress,
        _ central: Central,
        _ time: VirtualTime
    ) async throws -> Result {
        let plan = Session.Plan(address).subscribing(to: number)
        return try await central.withSession(plan) { session in
            let end = BLEStream<Void>(timeline: time) { feed in
                let timer = time.schedule(after: week) { feed.send(()) }
                return { timer.cancel() }
            }
            async let transitions = session.states.take(until: end).collect()
            var result = Result()
            for try await item in session.notifications(of: number).withGaps().take(until: end) {
                switch item {
                case .value(let value): result.numbers.append(UInt32(octets: value))
                case .gap(let gap): result.gaps.append(gap)
                }
            }
            result.transitions = try await transitions
            return result
        }
    }

    private static func check(_ result: Result, _ arrived: [UInt32], _ seed: UInt64) {
        #expect(result.numbers == Array(arrived.prefix(result.numbers.count)), "seed \(seed)")
        // The last one may arrive as the week ends.
        #expect(arrived.count - result.numbers.count <= 1, "seed \(seed)")
        #expect(result.numbers.count > 500, "seed \(seed): \(result.numbers.count) numbers")
        #expect(zip(result.numbers, result.numbers.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")

        let losses = result.transitions.filter { $0.previous?.kind == .ready && $0.state.kind == .waitingToReconnect }
        let returns = result.transitions.filter { $0.previous?.kind == .notificationsEnabled && $0.state.isReady }
        #expect(losses.count > 5 && result.gaps.count == returns.count - 1, "seed \(seed)")
        #expect(result.gaps.allSatisfy { $0.reason is BLEError && $0.dropped == 0 }, "seed \(seed)")
        let durations = zip(losses, returns.dropFirst()).map { $1.time - $0.time }
        for (gap, duration) in zip(result.gaps, durations) {
            // It ends when the subscription is on, a moment before the session says that it is ready.
            #expect(duration - gap.duration < .milliseconds(100) && gap.duration <= duration, "seed \(seed)")
        }
        pausesAreExact(result.transitions, seed)
    }

    /// Each pause is as long as its state says, and lies within the jitter of what the policy computes.
    private static func pausesAreExact(_ transitions: [Session.Transition], _ seed: UInt64) {
        for (waiting, next) in zip(transitions, transitions.dropFirst()) {
            guard case .disconnected(.waitingToReconnect(let failure, .delay(let delay))) = waiting.state else {
                continue
            }
            #expect(next.time - waiting.time == delay, "seed \(seed)")
            var computed = Duration.milliseconds(250)
            for _ in 1..<max(1, failure) { computed = min(computed * 2, .seconds(30)) }
            #expect(delay >= computed * 0.8 && delay <= computed * 1.2, "seed \(seed): \(failure), \(delay)")
        }
    }
}
