import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Adapters that are ill under programs that only connect.
@Suite struct ConnectRecoveryTests {
    private static let plan = RecoveryPlan(
        steps: [.restartScan, .powerCycle],
        silence: .seconds(5),
        patience: .seconds(5),
        rest: .seconds(600),
        hearsAlways: true
    )

    /// Runs a body with a central of that plan, and what it tells of troubles meanwhile.
    private func connecting(
        _ plan: RecoveryPlan = plan,
        _ body: @escaping @Sendable (Bench, Central, Recorder<String>) async throws -> Void
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), recovery: plan)
            let troubles = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await trouble in central.adapterTroubles { troubles.add("\(trouble)") }
                }
                try await bench.time.sleep(for: .seconds(1))
                try await body(bench, central, troubles)
                group.cancelAll()
            }
            #expect(!bench.centralAdapter.activity.isScanning)
        }
    }

    @Test func `a deaf adapter is noticed and cured by a connect alone, which goes on`() async throws {
        try await connecting { bench, central, troubles in
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            try await peripheral.withLink(timeout: .seconds(30)) { link in
                _ = try await link.read(Bench.readable)
            }
            #expect(
                troubles.all == [
                    "the adapter hears nothing for 5.0 seconds", "step 1: the scan begins again",
                    "step 2: the adapter is switched off and on", "the adapter works again after 2 steps",
                ]
            )
        }
    }

    @Test func `so is one that hangs, and a session comes back by itself`() async throws {
        try await connecting { bench, central, troubles in
            let plan = Session.Plan(central.peripheral(bench.peripheralAdapter.address)).subscribing(
                to: Bench.notifying
            )
            bench.centralAdapter.hang()
            try await central.withSession(plan) { session in
                _ = try await session.notifications(of: Bench.notifying).collect(3)
            }
            #expect(troubles.all.first == "the adapter does not answer Start Discovery")
            #expect(troubles.all.contains("step 1: the adapter is switched off and on"))
        }
    }

    @Test func `a peripheral that is away is no deaf adapter`() async throws {
        try await connecting { bench, central, troubles in
            let absent = central.peripheral(bench.air.adapter().address)
            let error = await bleError { try await absent.withLink(timeout: .seconds(60)) { _ in } }
            #expect(error?.code == .timedOut)
            #expect(troubles.all.isEmpty)
        }
    }

    @Test func `where nobody was heard before silence means nothing, unless the plan says that somebody is there`()
        async throws
    {
        var plan = Self.plan
        plan.hearsAlways = false
        try await connecting(plan) { bench, central, troubles in
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            let error = await bleError { try await peripheral.withLink(timeout: .seconds(60)) { _ in } }
            #expect(error?.code == .timedOut)
            #expect(troubles.all.isEmpty)
        }
    }

    @Test func `who has heard others than the peripheral before misses them`() async throws {
        var plan = Self.plan
        plan.hearsAlways = false
        try await connecting(plan) { bench, central, troubles in
            // The one that is heard isn't the one that is connected to.
            _ = try await central.scan().first()
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            let absent = central.peripheral(bench.air.adapter().address)
            let error = await bleError { try await absent.withLink(timeout: .seconds(60)) { _ in } }
            #expect(error?.code == .timedOut)
            #expect(troubles.all.last == "the adapter works again after 2 steps")
        }
    }

    @Test func `attempts one after the other tell of a trouble once, and are quiet after the last step`() async throws {
        var plan = Self.plan
        plan.steps = [.powerCycle]
        try await connecting(plan) { bench, central, troubles in
            bench.centralAdapter.hang(powerCycles: .max)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            for _ in 0..<40 { _ = await bleError { try await peripheral.withLink(timeout: .seconds(10)) { _ in } } }
            let steps = troubles.all.filter { $0.hasPrefix("step") }
            #expect(steps.count == 1)
            #expect(troubles.all.filter { $0.contains("helped") }.count == 1)
        }
    }

    @Test func `a deaf one of several is cured beside attempts through another one`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let second = bench.air.adapter()
            let both = AdapterChoice.joined([.radio(bench.centralAdapter), .radio(second)])
            let central = try await Central.open(both, recovery: Self.plan)
            let troubles = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await trouble in central.adapterTroubles { troubles.add("\(trouble)") }
                }
                try await bench.time.sleep(for: .seconds(1))
                bench.centralAdapter.goDeaf(untilPowerCycle: true)
                let absent = central.peripheral(bench.air.adapter().address)
                _ = await bleError { try await absent.withLink(timeout: .seconds(90)) { _ in } }
                group.cancelAll()
            }
            let name = bench.centralAdapter.name
            #expect(troubles.all.last == "\(name): the adapter works again after 2 steps")
            #expect(troubles.all.allSatisfy { $0.hasPrefix("\(name): ") })
        }
    }

    /// Runs a body with a central on joined adapters, each of which is cured by switching it off and on.
    private func joining(
        _ count: Int,
        _ plan: RecoveryPlan = plan,
        _ body: @escaping @Sendable (Bench, [SimulatedAdapter], Peripheral) async throws -> Void
    ) async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let adapters = [bench.centralAdapter] + (1..<count).map { _ in bench.air.adapter() }
            let choice = AdapterChoice.joined(adapters.map { .radio($0) })
            let central = try await Central.open(choice, recovery: plan)
            try await body(bench, adapters, central.peripheral(bench.peripheralAdapter.address))
        }
    }

    @Test(arguments: 1...2, [false, true])
    func `an attempt waits for joined adapters that are all being cured`(_ count: Int, areHung: Bool) async throws {
        try await joining(count) { bench, adapters, peripheral in
            for adapter in adapters { if areHung { adapter.hang() } else { adapter.goDeaf(untilPowerCycle: true) } }
            try await peripheral.withLink(timeout: .seconds(30)) { try await $0.expect(Bench.readOnly, reads: [7]) }
        }
    }

    @Test func `an attempt waits for the adapter that has the bond, and is not at it while that is switched off`()
        async throws
    {
        try await joining(2) { bench, adapters, peripheral in
            try await peripheral.withLink { try await $0.pair() }
            let holder = try #require(adapters.first { $0.address == peripheral.bond?.adapter })
            holder.goDeaf(untilPowerCycle: true)
            let requests = Recorder<Bool>()
            let watch = holder.observeAdapter { info in
                if info.state == .poweredOff { requests.add(holder.activity.connecting.isEmpty) }
            }
            try await peripheral.withLink(timeout: .seconds(30)) { link in
                #expect(link.security.isEncrypted && !holder.activity.links.isEmpty)
            }
            watch.cancel()
            #expect(requests.all == [true])
        }
    }

    @Test func `an attempt goes on behind a reset, which has cost the adapter the keys of its bonds`() async throws {
        var plan = Self.plan
        plan.steps = [.reset]
        try await connecting(plan) { bench, central, troubles in
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            try await peripheral.withLink { try await $0.pair() }
            bench.centralAdapter.goDeaf(untilPowerCycle: true)
            try await peripheral.withLink(timeout: .seconds(60)) { link in
                #expect(link.security.isEncrypted)
            }
            #expect(troubles.all.contains { $0.hasPrefix("step 1") })
        }
    }

    @Test func `so does one of joined adapters, of which the one that has the bond is reset`() async throws {
        var plan = Self.plan
        plan.steps = [.reset]
        try await joining(2, plan) { bench, adapters, peripheral in
            try await peripheral.withLink { try await $0.pair() }
            let holder = try #require(adapters.first { $0.address == peripheral.bond?.adapter })
            holder.goDeaf(untilPowerCycle: true)
            let states = Recorder<AdapterInfo.State>()
            let watch = holder.observeAdapter { states.add($0.state) }
            try await peripheral.withLink(timeout: .seconds(60)) { link in
                #expect(link.security.isEncrypted && !holder.activity.links.isEmpty)
            }
            watch.cancel()
            #expect(states.all.contains(.absent))
        }
    }

    @Test func `a peripheral that is linked through a joined adapter isn't missed, by whichever address it is named`()
        async throws
    {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            try await Central.open(.radio(far)).setPrivacy(true)
            var plan = Self.plan
            plan.hearsAlways = false
            let central = try await Central.open(.joined([.radio(near)]), recovery: plan)
            let troubles = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: far) }
                group.addTask {
                    for try await trouble in central.adapterTroubles { troubles.add("\(trouble)") }
                }
                // Once it has paired, its links go by its identity.
                let peripheral = central.peripheral(far.addressOnAir)
                try await peripheral.withLink { try await $0.pair() }
                _ = try await central.scan().first()
                try await peripheral.withLink { _ in
                    let absent = central.peripheral(air.adapter().address)
                    let error = await bleError { try await absent.withLink(timeout: .seconds(60)) { _ in } }
                    #expect(error?.code == .timedOut)
                }
                group.cancelAll()
            }
            #expect(troubles.all.isEmpty)
        }
    }

    @Test func `a peripheral that is linked through one joined adapter isn't missed by the other ones`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            let (near, beside, far) = (air.adapter(), air.adapter(), air.adapter())
            var plan = Self.plan
            plan.hearsAlways = false
            let central = try await Central.open(.joined([.radio(near), .radio(beside)]), recovery: plan)
            let troubles = Recorder<String>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: far) }
                group.addTask {
                    for try await trouble in central.adapterTroubles { troubles.add("\(trouble)") }
                }
                // Both hear it.
                _ = try await central.scan(duplicates: true).prefix(8).collect()
                try await central.peripheral(far.address).withLink { _ in
                    let absent = central.peripheral(air.adapter().address)
                    let error = await bleError { try await absent.withLink(timeout: .seconds(60)) { _ in } }
                    #expect(error?.code == .timedOut)
                }
                group.cancelAll()
            }
            #expect(troubles.all.isEmpty)
        }
    }
}
