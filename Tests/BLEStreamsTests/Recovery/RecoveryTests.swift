import BLERadio
import BLESimulator
import BLEStreams
import Synchronization
import Testing

@Suite struct RecoveryTests {
    private static let plan = RecoveryPlan(
        steps: [.restartScan, .powerCycle],
        silence: .seconds(10),
        patience: .seconds(5),
        rest: .seconds(60)
    )

    /// Runs a body beside a scan for everything that never ends by itself, and the troubles that are told meanwhile.
    private func scanning(
        _ plan: RecoveryPlan,
        _ body: @escaping @Sendable (Bench, Heard) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), recovery: plan)
            let heard = Heard()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do {
                        for try await _ in central.scan(duplicates: true) { heard.count.withLock { $0 += 1 } }
                    } catch let error as BLEError {
                        heard.end.withLock { $0 = error }
                    }
                }
                group.addTask {
                    for try await trouble in central.adapterTroubles {
                        heard.troubles.withLock { $0.append("\(trouble)") }
                    }
                }
                try await bench.time.sleep(for: .seconds(1))
                try await body(bench, heard)
                group.cancelAll()
            }
        }
    }

    private final class Heard: Sendable {
        let count = Mutex(0)
        let end = Mutex<BLEError?>(nil)
        let troubles = Mutex<[String]>([])

        /// Whether anything was heard since this was asked last.
        func anything() -> Bool {
            count.withLock { count in
                defer { count = 0 }
                return count > 0
            }
        }
    }

    @Test func `a scan that has gone deaf is begun again, and whoever scans keeps its stream`() async throws {
        try await scanning(Self.plan) { bench, heard in
            #expect(heard.anything())
            bench.centralAdapter.goDeaf(untilPowerCycle: false)
            try await bench.time.sleep(for: .seconds(9))
            _ = heard.anything()
            try await bench.time.sleep(for: .seconds(16))
            #expect(heard.anything())
            #expect(heard.end.withLock { $0 } == nil)
            #expect(
                heard.troubles.withLock { $0 } == [
                    "the adapter hears nothing for 10.0 seconds", "step 1: the scan begins again",
                    "the adapter works again after 1 step",
                ]
            )
        }
    }

    @Test func `where that does not help the adapter is switched off and on, and the scan goes on`() async throws {
        try await scanning(Self.plan) { bench, heard in
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            try await bench.time.sleep(for: .seconds(30))
            #expect(heard.anything())
            #expect(heard.end.withLock { $0 } == nil)
            #expect(heard.troubles.withLock { $0 }.last == "the adapter works again after 2 steps")
            try await bench.time.sleep(for: .seconds(1))
            #expect(heard.anything())
        }
    }

    @Test func `by default an adapter is never switched off`() async throws {
        try await scanning(RecoveryPlan()) { bench, heard in
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            let states = Mutex<Set<AdapterInfo.State>>([])
            let watch = bench.centralAdapter.observeAdapter { info in states.withLock { _ = $0.insert(info.state) } }
            try await bench.time.sleep(for: .seconds(3600))
            watch.cancel()
            #expect(states.withLock { $0 } == [.poweredOn])
            // Once, and then it is quiet.
            let troubles = heard.troubles.withLock { $0 }
            #expect(troubles.count == 3 && troubles.last?.contains("1 step has not helped") == true)
            #expect(heard.end.withLock { $0 } == nil)
        }
    }

    @Test func `an adapter that the program switches off while a step may still help stays off`() async throws {
        try await scanning(Self.plan) { bench, heard in
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            for _ in 0..<60 where !heard.troubles.withLock({ $0.contains("step 1: the scan begins again") }) {
                try await bench.time.sleep(for: .milliseconds(500))
            }
            try await bench.central.setPowered(false)
            try await bench.time.sleep(for: .seconds(60))
            #expect(bench.central.adapter.state == .poweredOff)
            #expect(heard.end.withLock { $0 }?.code == .adapterPoweredOff)
            #expect(heard.troubles.withLock { $0 }.last == "step 1: the scan begins again")
        }
    }

    @Test func `where nobody advertises any more nothing is done twice`() async throws {
        try await scanning(Self.plan) { bench, heard in
            bench.peripheralAdapter.unplug()
            try await bench.time.sleep(for: .seconds(3600))
            #expect(heard.troubles.withLock { $0 }.filter { $0.hasPrefix("step") }.count == 2)
        }
    }

    @Test func `a scan lives through a controller that hangs, where the plan says so`() async throws {
        try await scanning(Self.plan) { bench, heard in
            bench.centralAdapter.hang()
            try await bench.time.sleep(for: .seconds(40))
            _ = heard.anything()
            try await bench.time.sleep(for: .seconds(1))
            #expect(heard.anything())
            #expect(heard.end.withLock { $0 } == nil)
        }
    }

    @Test func `a controller that hangs fails a scan that nobody cures, in words that say so`() async throws {
        try await Bench.run { bench in
            bench.centralAdapter.hang()
            let error = await bleError { _ = try await bench.central.scan().first() }
            #expect(error?.code == .timedOut && error?.cause == "the controller does not answer")
        }
    }

    @Test func `a session beside an adapter that hangs comes back by itself`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), recovery: Self.plan)
            let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)
            bench.centralAdapter.hang()
            try await central.withSession(plan) { session in
                _ = try await session.notifications(of: Bench.notifying).collect(3)
            }
        }
    }

    @Test func `a session that has yet to find its peripheral outlives an adapter that hangs, whoever cures it`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)
            bench.centralAdapter.hang()
            try await bench.central.withSession(plan) { session in
                let change = try await session.states.first {
                    [.waitingToReconnect, .failed].contains($0.state.kind)
                }
                #expect(change.state.kind == .waitingToReconnect, "\(change)")
                #expect(change.cause?.error?.cause == "the controller does not answer", "\(change)")
                try await bench.central.powerCycle()
                _ = try await session.notifications(of: Bench.notifying).timeout(.seconds(60)).collect(3)
            }
        }
    }

    @Test func `a program that serves too is told that its own plan has switched the adapter off, and serves again`()
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), recovery: Self.plan)
            let ends = Recorder<BLEError>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while true {
                        do {
                            try await LocalPeripheral(name: "Beside") {}.run(on: bench.centralAdapter)
                        } catch let end as BLEError {
                            ends.add(end)
                        }
                        for try await state in central.adapterStates where state == .poweredOn { break }
                    }
                }
                group.addTask { for try await _ in central.scan(duplicates: true) {} }
                let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
                try await central.withSession(plan) { session in
                    _ = try await session.notifications(of: Bench.notifying).collect(3)
                    bench.centralAdapter.goDeaf(untilPowerCycle: true)
                    _ = try await central.adapterStates.first { $0 == .poweredOff }
                    // The session's link comes back by itself, and the peripheral can be connected to again.
                    _ = try await session.notifications(of: Bench.notifying).collect(3)
                }
                let visitor = try await Central.open(.radio(bench.air.adapter()))
                try await visitor.peripheral(bench.centralAdapter.address).withLink { _ in }
                group.cancelAll()
            }
            let end = try #require(ends.all.first)
            #expect(ends.all.count == 1 && end.code == .adapterPoweredOff)
            #expect(end.cause.contains("recovery plan"))
        }
    }

    @Test func `a link is not ended within minutes because the only device, which is linked, is silent`() async throws {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), recovery: Self.plan)
            try await central.whileScanning(bench.time) { troubles in
                try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                    try await bench.time.sleep(for: .seconds(100))
                    try await link.expect(Bench.readOnly, reads: [7])
                    let told = ["the adapter hears nothing for 10.0 seconds", "step 1: the scan begins again"]
                    #expect(troubles.all == told)
                }
                // Without the link, the device is heard.
                try await bench.time.sleep(for: .seconds(1))
                #expect(troubles.all.last == "the adapter works again after 1 step")
            }
        }
    }

    @Test func `of several adapters only the one that has the link is spared for it`() async throws {
        try await Bench.run { bench in
            let (near, far) = (bench.centralAdapter, bench.air.adapter())
            bench.air.setSignal(.dBm(-50), between: near, and: bench.peripheralAdapter)
            bench.air.setSignal(.dBm(-80), between: far, and: bench.peripheralAdapter)
            let joined = AdapterChoice.joined([.radio(near), .radio(far)])
            let central = try await Central.open(joined, recovery: Self.plan)
            try await central.whileScanning(bench.time) { troubles in
                try await central.peripheral(bench.peripheralAdapter.address).withLink { link in
                    #expect(!near.activity.links.isEmpty)
                    try await bench.time.sleep(for: .seconds(100))
                    try await link.expect(Bench.readOnly, reads: [7])
                    let switched = troubles.all.filter { $0.hasSuffix("step 2: the adapter is switched off and on") }
                    #expect(switched == ["\(far.name): step 2: the adapter is switched off and on"])
                }
            }
        }
    }

    @Test func `a program switches its adapter`() async throws {
        try await Bench.run { bench in
            try await bench.central.setPowered(false)
            #expect(bench.central.adapter.state == .poweredOff)
            try await bench.central.setPowered(true)
            #expect(bench.central.adapter.state == .poweredOn)
            bench.centralAdapter.block()
            let error = await bleError { try await bench.central.setPowered(true) }
            #expect(error?.code == .adapterBlocked)
        }
    }

    @Test func `a program switches its adapter off and on, and is told what is seen`() async throws {
        try await Bench.run { bench in
            let seen = Recorder<String>()
            try await bench.central.powerCycle { seen.add("\($0.name) \($0.state)") }
            let name = bench.centralAdapter.name
            #expect(seen.all == ["\(name) poweredOff", "\(name) poweredOn"])
            try await bench.central.setPowered(false)
            try await bench.central.powerCycle()
            #expect(bench.central.adapter.state == .poweredOn)
            bench.centralAdapter.block()
            let error = await bleError { try await bench.central.powerCycle() }
            #expect(error?.code == .adapterBlocked && error?.operation == "switch off")
        }
    }

    @Test func `whoever gives up waiting for a power cycle leaves no adapter behind that is off`() async throws {
        try await Bench.run { bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let off = Ending<Void>()
                group.addTask {
                    await #expect(throws: CancellationError.self) {
                        try await bench.central.powerCycle { if $0.state == .poweredOff { off.end() } }
                    }
                }
                try await off.wait(on: bench.air.timeline)
                group.cancelAll()
                try await group.waitForAll()
            }
            _ = try await bench.central.adapterStates.timeout(.seconds(5)).first { $0 == .poweredOn }
        }
    }

    @Test func `where switching off does not help either the adapter is reset, and the scan goes on`() async throws {
        var plan = Self.plan
        plan.steps = [.powerCycle, .reset]
        try await scanning(plan) { bench, heard in
            bench.centralAdapter.hang(powerCycles: .max)
            try await bench.time.sleep(for: .seconds(60))
            #expect(heard.anything())
            #expect(heard.end.withLock { $0 } == nil)
            let troubles = heard.troubles.withLock { $0 }
            #expect(troubles.contains("step 2: the adapter is reset"))
            #expect(troubles.last == "the adapter works again after 2 steps")
        }
    }

    @Test func `an adapter that can't be reset says what to do, and is left alone once no step is left`() async throws {
        var plan = Self.plan
        plan.steps = [.reset, .powerCycle, .reset]
        try await scanning(plan) { bench, heard in
            bench.centralAdapter.settings.canBeReset = false
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            try await bench.time.sleep(for: .seconds(40))
            #expect(heard.anything())
            let troubles = heard.troubles.withLock { $0 }
            let failure = troubles.first { $0.contains("that failed") }
            #expect(
                failure?.contains("only USB devices can be reset") == true && failure?.contains("canBeReset") == true
            )
            #expect(troubles.last == "the adapter works again after 2 steps")
            bench.centralAdapter.hang(powerCycles: .max)
            try await bench.time.sleep(for: .seconds(3600))
            #expect(heard.troubles.withLock { $0 }.filter { $0.hasPrefix("step") }.count == 3)
        }
    }

    @Test func `a program resets its adapter, and is told what is seen`() async throws {
        try await Bench.run { bench in
            let seen = Recorder<AdapterInfo.State>()
            bench.centralAdapter.hang(powerCycles: .max)
            try await bench.central.reset { seen.add($0.state) }
            #expect(seen.all == [.absent, .poweredOn])
            try await bench.peripheral.withLink { _ in }
            try await bench.central.setPowered(false)
            try await bench.central.reset()
            #expect(bench.central.adapter.state == .poweredOff)
            bench.centralAdapter.settings.canBeReset = false
            let error = await bleError { try await bench.central.reset() }
            #expect(error?.code == .notSupported && error?.remedy.isEmpty == false)
        }
    }
}
