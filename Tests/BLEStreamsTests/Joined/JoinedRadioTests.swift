import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// Joined adapters as programs use them.
@Suite(.timeLimit(.minutes(10))) struct JoinedRadioTests {
    @Test func `a link is made through the adapter that hears best, with or without a scan before it`() async throws {
        try await JoinedSite.run { site in
            site.move(0, near: .dBm(-80), far: .dBm(-50))
            try await site.peripherals[0].withLink { link in
                #expect(site.loads == [0, 1])
                let value = try await link.read(JoinedSite.fixed)
                #expect(Array(value) == [0])
            }
            let found = try await site.central.scan().first().peripheral
            try await found.withLink { _ in #expect(site.loads == [0, 1]) }
        }
    }

    @Test func `each adapter's report of an advertisement is one, with its name and what it measured`() async throws {
        try await JoinedSite.run { site in
            var heard: [String: Int] = [:]
            for try await discovery in site.central.scan(duplicates: true) {
                heard[try #require(discovery.adapter)] = discovery.rssi
                if heard.count == 2 { break }
            }
            #expect(heard == ["near": -50, "far": -80])
            for duplicates in [.ignored, .changes] as [Central.Duplicates] {
                let once = site.central.scan(duplicates: duplicates).prefix(for: .seconds(30))
                let found = try await once.collect()
                #expect(found.count == 1, "\(duplicates)")
            }
        }
    }

    @Test func `a scan goes on while one adapter hears, and uses the other again when it is back`() async throws {
        try await JoinedSite.run { site in
            var names: [String] = []
            let near = site.adapters[0]
            for try await discovery in site.central.scan(duplicates: true) {
                names.append(try #require(discovery.adapter))
                switch (names.last, near.state) {
                case ("near", .poweredOn) where names.count < 10: near.powerOff()
                case ("far", .poweredOff) where names.count >= 10: near.powerOn()
                default: break
                }
                if names.count > 10, names.last == "near" { break }
            }
            #expect(names.last == "near" && names.dropFirst(2).dropLast().allSatisfy { $0 == "far" })
        }
    }

    @Test func `a scan fails when no adapter is left, and says why`() async throws {
        try await JoinedSite.run { site in
            let error = await #expect(throws: BLEError.self) {
                for try await _ in site.central.scan(duplicates: true) {
                    for adapter in site.adapters { adapter.powerOff() }
                }
            }
            #expect(error?.code == .adapterPoweredOff)
        }
    }

    @Test func `a scan and a link to what it found, inside the loop`() async throws {
        try await JoinedSite.run(sensors: 3) { site in
            var values: Set<UInt8> = []
            for try await discovery in site.central.scan(for: .connectable) {
                let value = try await discovery.peripheral.withLink { try await $0.read(JoinedSite.fixed) }
                values.formUnion(value)
                if values.count == 3 { break }
            }
            #expect(values == [0, 1, 2])
        }
    }

    @Test func `a session goes on through the other adapter when its own is pulled out`() async throws {
        try await JoinedSite.run { site in
            try await site.central.withSession(Session.Plan(site.sensors[0].address)) { session in
                var used: [[Int]] = []
                for try await _ in session.notifications(of: JoinedSite.number) {
                    if used.last != site.loads { used.append(site.loads) }
                    if site.loads == [1, 0] { site.adapters[0].unplug() }
                    if site.loads == [0, 1] { break }
                }
                #expect(used.first == [1, 0] && used.last == [0, 1])
            }
        }
    }

    @Test func `an adapter that was off during an attempt has its turn again once it is on`() async throws {
        try await JoinedSite.run { site in
            site.move(0, near: .outOfRange, far: .outOfRange)
            try await withThrowingTaskGroup(of: [Int].self) { group in
                group.addTask {
                    try await site.peripherals[0].withLink(timeout: .seconds(300)) { _ in site.loads }
                }
                // Both have listened, and the first one waits for it.
                try await site.time.sleep(for: .seconds(4))
                site.adapters[0].powerOff()
                try await site.time.sleep(for: .seconds(4))
                site.adapters[0].powerOn()
                site.move(0, near: .dBm(-50), far: .outOfRange)
                let loads = try await group.next()
                #expect(loads == [1, 0])
            }
        }
    }

    @Test func `a peripheral that moves is taken over by the better adapter at the next link`() async throws {
        try await JoinedSite.run { site in
            try await site.central.withSession(Session.Plan(site.sensors[0].address)) { session in
                var first: [Int]?
                for try await _ in session.notifications(of: JoinedSite.number) {
                    if first == nil {
                        first = site.loads
                        site.move(0, near: .outOfRange, far: .dBm(-50))
                    }
                    if site.loads == [0, 1] { break }
                }
                #expect(first == [1, 0])
                // Heard again by the first, but not better by much: it stays.
                site.move(0, near: .dBm(-48), far: .dBm(-50))
                site.air.faults.add(.dropLink(after: Duration.zero))
                _ = try await session.states.first { !$0.state.isReady }
                try await session.ready()
                #expect(site.loads == [0, 1])
            }
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `a fleet of six is spread over two adapters of three connections each`(_ seed: UInt64) async throws {
        try await JoinedSite.run(sensors: 6, seed: seed, settings: AdapterSettings(maximumPeripherals: 3)) { site in
            try await site.central.withFleet { fleet in
                for sensor in site.sensors {
                    fleet.add(Session.Plan(sensor.address).subscribing(to: JoinedSite.number))
                }
                var heard: Set<BluetoothAddress> = []
                for try await item in fleet.values {
                    heard.insert(try #require(item.peripheral?.address))
                    if heard.count == 6 { break }
                }
                #expect(site.loads == [3, 3])
            }
        }
    }

    @Test func `with all slots taken the error says so`() async throws {
        try await JoinedSite.run(sensors: 3, settings: AdapterSettings(maximumPeripherals: 1)) { site in
            let peripherals = site.peripherals
            try await peripherals[0].withLink { _ in
                try await peripherals[1].withLink { _ in
                    let error = await #expect(throws: BLEError.self) { try await peripherals[2].withLink { _ in } }
                    #expect(error?.code == .connectionFailed && error?.cause.contains("slot") == true)
                }
                try await peripherals[2].withLink { _ in #expect(site.loads == [1, 1]) }
            }
        }
    }

    @Test func `a bond ties a peripheral to the adapter that made it, in the next run too`() async throws {
        try await JoinedSite.run { site in
            let store = PeerStore.inMemory()
            let choice = AdapterChoice.joined(site.adapters.map { .radio($0) })
            let first = try await Central.open(choice, store: store)
            site.move(0, near: .dBm(-80), far: .dBm(-50))
            try await first.peripheral(site.sensors[0].address).withLink { link in
                try await link.pair()
                #expect(link.security.isEncrypted && site.loads == [0, 1])
            }
            // Nearer to the other one, and known from the store alone; keys are lost where an adapter is unplugged.
            site.adapters[1].unplug()
            site.adapters[1].plugIn()
            site.move(0, near: .dBm(-40), far: .dBm(-80))
            let second = try await Central.open(choice, store: store)
            let peripheral = second.peripheral(site.sensors[0].address)
            #expect(peripheral.bond?.adapter == site.adapters[1].address)
            try await peripheral.withLink { link in #expect(link.security.isEncrypted && site.loads == [0, 1]) }
            site.adapters[1].powerOff()
            let error = await #expect(throws: BLEError.self) { try await peripheral.withLink { _ in } }
            #expect(error?.code == .connectionFailed && error?.cause.contains("far") == true)
            site.adapters[1].powerOn()
            try await peripheral.unpair()
            site.sensors[0].forgetBonds()
            try await peripheral.withLink { link in #expect(!link.security.isEncrypted && site.loads == [1, 0]) }
        }
    }

    @Test func `of several bonds the one counts whose adapter has the link`() async throws {
        try await JoinedSite.run { site in
            let (store, sensor) = (PeerStore.inMemory(), site.sensors[0])
            let stranger = site.air.adapter(name: "stranger")
            func pair(_ adapter: SimulatedAdapter) async throws {
                let central = try await Central.open(.radio(adapter), store: store)
                try await central.peripheral(sensor.address).withLink { try await $0.pair() }
            }
            let choice = AdapterChoice.joined(site.adapters.map { .radio($0) })
            let peripheral = try await Central.open(choice, store: store).peripheral(sensor.address)
            #expect(peripheral.bond == nil && !peripheral.isBonded)
            // That of an adapter that isn't joined counts for none of them.
            try await pair(stranger)
            #expect(peripheral.bond == nil && peripheral.isBonded)
            for adapter in site.adapters.reversed() { try await pair(adapter) }
            #expect(peripheral.bond?.adapter == site.adapters[0].address)
            site.move(0, near: .dBm(-80), far: .dBm(-50))
            try await peripheral.withLink { link in
                #expect(site.loads == [0, 1] && link.security.isEncrypted)
                #expect(peripheral.bond?.adapter == site.adapters[1].address)
            }
            // It is where the last link was, until there is another.
            #expect(peripheral.bond?.adapter == site.adapters[1].address)
            site.move(0, near: .dBm(-40), far: .dBm(-80))
            try await peripheral.withLink { link in
                #expect(site.loads == [1, 0] && link.security.isEncrypted)
                #expect(peripheral.bond?.adapter == site.adapters[0].address)
            }
            site.adapters[0].unplug()
            #expect(peripheral.bond?.adapter == site.adapters[0].address)
        }
    }

    @Test func `the state is on while one adapter is`() async throws {
        try await JoinedSite.run { site in
            var states = site.central.adapterStates.makeAsyncIterator()
            let before = try await states.next()
            #expect(before == .poweredOn)
            #expect(site.central.adapter.name == "near+far")
            site.adapters[0].powerOff()
            #expect(site.central.adapter.state == .poweredOn)
            site.adapters[1].unplug()
            let without = try await states.next()
            #expect(without == .poweredOff)
            try await site.central.setPowered(true)
            let again = try await states.next()
            #expect(again == .poweredOn)
            #expect(site.adapters.map(\.state) == [.poweredOn, .absent])
        }
    }

    @Test func `an adapter that doesn't answer is cured by itself, and the links of the other stay up`() async throws {
        try await JoinedSite.run(sensors: 2) { site in
            let choice = AdapterChoice.joined(site.adapters.map { .radio($0) })
            let central = try await Central.open(choice, recovery: RecoveryPlan(steps: [.powerCycle]))
            site.move(0, near: .dBm(-80), far: .dBm(-50))
            try await central.peripheral(site.sensors[0].address).withLink { link in
                #expect(site.loads == [0, 1])
                site.adapters[0].hang()
                async let troubles = central.adapterTroubles.prefix(3).collect()
                try await site.time.sleep(for: .seconds(1))
                _ = try await central.scan(duplicates: true).first { $0.adapter == "near" }
                for trouble in try await troubles {
                    guard case .ofOne("near", _) = trouble else {
                        Issue.record("\(trouble)")
                        continue
                    }
                }
                #expect(site.adapters.map(\.state) == [.poweredOn, .poweredOn] && site.loads == [0, 1])
                let value = try await link.read(JoinedSite.fixed)
                #expect(Array(value) == [0])
            }
        }
    }

    @Test func `a link of any of them is a link of the machine`() async throws {
        try await JoinedSite.run { site in
            let address = site.sensors[0].address
            let joined = JoinedRadio(site.adapters, timeline: site.time)
            #expect(!joined.hasLink(to: address) && !joined.isLinked)
            // The second one's, made by another program.
            try await Central.open(.radio(site.adapters[1])).peripheral(address).withLink { _ in
                #expect(joined.hasLink(to: address) && joined.isLinked)
            }
        }
    }

    @Test func `a server advertises where it listens, also if an adapter before that is switched on meanwhile`()
        async throws
    {
        try await JoinedSite.run { site in
            let (near, far) = (site.adapters[0], site.adapters[1])
            let joined = JoinedRadio(site.adapters, timeline: site.time)
            near.powerOff()
            try await site.time.sleep(for: .seconds(1))
            let listening = joined.listen { _ in }
            #expect(far.activity.listenerCount == 1)
            near.powerOn()
            try await site.time.sleep(for: .seconds(1))
            let advertising = joined.advertise(AdvertiseRequest([.localName("Server")])) { _ in }
            #expect(far.activity.advertisementCount == 1 && near.activity.advertisementCount == 0)
            // A second listener is refused, and changes nothing.
            let second = joined.listen { if case .accepted = $0 { Issue.record("a second listener") } }
            try await site.time.sleep(for: .seconds(1))
            #expect(near.activity.listenerCount == 0 && far.activity.listenerCount == 1)
            for activity in [second, advertising, listening] { activity.cancel() }
            let next = joined.listen { _ in }
            #expect(near.activity.listenerCount == 1)
            next.cancel()
        }
    }

    @Test func `an adapter that appears while the plan of recovery comes is recovered once`() {
        let adds = Recorder<@Sendable (any Radio) -> Void>()
        let joined = JoinedRadio([], timeline: PatientTimeline()) { add in
            adds.add(add)
            return RadioActivity {}
        }
        let radio = AppearingRadio { [weak joined] in joined?.recover(by: RecoveryPlan()) }
        withExtendedLifetime(joined) {
            for add in adds.all { add(radio) }
        }
        #expect(radio.symptomObservers.all.count == 1)
    }
}

/// Something happens while it is added.
private struct AppearingRadio: IdleRadio {
    let meanwhile: @Sendable () -> Void
    let symptomObservers = Recorder<Bool>()

    init(_ meanwhile: @escaping @Sendable () -> Void) { self.meanwhile = meanwhile }

    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        meanwhile()
        return RadioActivity {}
    }

    func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        symptomObservers.add(true)
        return RadioActivity {}
    }
}
