import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct FleetTests {
    private static let number = BluetoothUUID(0xA003)

    /// Runs the closure with as many sensors, each of which sends its number every second.
    private static func run(
        _ count: Int,
        seed: UInt64 = 1,
        _ body: @escaping @Sendable (FleetSite) async throws -> Void
    ) async throws {
        try await FleetSite.run(count, seed: seed, live: live, body)
    }

    private static func live(on adapter: SimulatedAdapter, _ index: UInt32, _ time: VirtualTime) async throws {
        let sensor = LocalPeripheral(name: "Sensor \(index)") {
            LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(number, [.notify]) }
        }
        try await sensor.run(on: .radio(adapter)) { server in
            var count: UInt32 = 0
            while true {
                try await server.notify((index << 16 | count).octets, of: number)
                count += 1
                try await time.sleep(for: .seconds(1))
            }
        }
    }

    private static func plan(_ adapter: SimulatedAdapter) -> Session.Plan {
        Session.Plan(adapter.address).subscribing(to: number)
    }

    @Test("ends and removes a session that was added when the fleet's task had been cancelled already")
    func cancelledBefore() async throws {
        try await Self.run(1) { site in
            let removed = Recorder<Session>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask {
                    try await site.central.withFleet { fleet in
                        // The fleet sees that first.
                        for _ in 0..<10 { await Task.yield() }
                        let session = fleet.add(Self.plan(site.sensors[0]))
                        await fleet.remove(session)
                        #expect(fleet.sessions.isEmpty)
                        removed.add(session)
                    }
                }
                try await group.waitForAll()
            }
            #expect(removed.all.count == 1)
            for session in removed.all { #expect(await bleError { try await session.ready() }?.code == .ended) }
        }
    }

    @Test func `the values of fifty peripherals with faults come as one stream, each in its order`() async throws {
        for seed in 1...2 as ClosedRange<UInt64> {
            try await Self.run(50, seed: seed) { site in
                site.air.faults.add(.loseLinks(every: .seconds(120)))
                site.air.faults.add(.refuseConnections(40))
                site.air.faults.add(.missAdvertisements(0.3))
                try await site.central.withFleet { fleet in
                    for sensor in site.sensors { fleet.add(Self.plan(sensor)) }
                    var last: [BluetoothAddress: UInt32] = [:]
                    var counts: [BluetoothAddress: Int] = [:]
                    for try await item in fleet.values {
                        let address = try #require(item.peripheral?.address)
                        let number = UInt32(octets: item.value)
                        #expect(site.sensors[Int(number >> 16)].address == address)
                        if let last = last[address] { #expect(number > last) }
                        last[address] = number
                        counts[address, default: 0] += 1
                        if counts.count == 50, counts.values.allSatisfy({ $0 >= 60 }) { break }
                    }
                    #expect(fleet.sessions.count == 50)
                    let reconnected = try await fleet.transitions.first { $0.state.isReady }
                    #expect(reconnected.session.state.isReady)
                }
            }
        }
    }

    @Test func `forty that are away keep one that is near waiting no longer than their turns take`() async throws {
        try await Self.run(1) { site in
            try await site.central.withFleet { fleet in
                for number in 0..<40 {
                    fleet.add(
                        Session.Plan(BluetoothAddress(rawValue: 0xC0FF_EE00_0000 | UInt64(number), kind: .random))
                    )
                }
                let session = fleet.add(Self.plan(site.sensors[0]))
                let begin = site.time.now
                try await session.ready()
                // 24 stand before it, and all 16 places are given up every five seconds.
                #expect(site.time.now - begin < .seconds(30), "\(site.time.now - begin)")
            }
        }
    }

    @Test func `scanning and connecting share the radio`() async throws {
        try await Self.run(11) { site in
            try await site.central.withFleet { fleet in
                var nobody = Session.Plan(finding: .name("Nobody"))
                nobody.limits.search = nil
                fleet.add(nobody)
                let sessions = site.sensors.dropLast().map { fleet.add(Session.Plan(finding: .address($0.address))) }
                for session in sessions { try await session.ready(timeout: .seconds(10)) }
                let last = try await site.central.scan(for: .namePrefix("Sensor")).timeout(.seconds(10)).first()
                #expect(last.name == "Sensor 10")
            }
        }
    }

    @Test func `sessions are added and removed while it runs, and leave in order`() async throws {
        try await Self.run(3) { site in
            site.air.traceCapacity = 1000
            try await site.central.withFleet { fleet in
                async let values = fleet.values.take(until: { UInt32(octets: $0.value) >> 16 == 2 }).collect()
                let first = fleet.add(Self.plan(site.sensors[0]))
                try await first.ready()
                let second = fleet.add(Self.plan(site.sensors[1]))
                try await second.ready()
                try await site.time.sleep(for: .seconds(3))
                await fleet.remove(first)
                #expect(fleet.sessions.map(\.description) == [second.description])
                #expect(site.near.activity.links == [site.sensors[1].address])
                let off = site.air.trace.filter { $0.sender == .central }.compactMap(\.pdu)
                    .filter { $0.first == 0x12 && $0.suffix(2) == [0, 0] }
                #expect(off.count == 1)
                await fleet.remove(first)
                fleet.add(Self.plan(site.sensors[2]))
                let senders = Set(try await values.map { UInt32(octets: $0.value) >> 16 })
                #expect(senders == [0, 1, 2])
            }
        }
    }

    @Test func `a session that fails ends nothing but itself, and goes on when it is reset`() async throws {
        try await Self.run(2) { site in
            site.air.faults.add(.dropLink(after: 3, .notifications), on: site.sensors[0])
            try await site.central.withFleet { fleet in
                var fragile = Self.plan(site.sensors[0])
                fragile.reconnecting = nil
                let session = fleet.add(fragile)
                fleet.add(Self.plan(site.sensors[1]))
                var (afterReset, others, hasFailed) = (0, 0, false)
                for try await item in fleet.values {
                    if item.session !== session { others += 1 } else if others > 20 { afterReset += 1 }
                    if others == 20, !hasFailed {
                        hasFailed = session.state.kind == .failed
                        try session.reset()
                    }
                    if afterReset == 3 { break }
                }
                #expect(hasFailed && afterReset == 3 && fleet.sessions.count == 2)
            }
        }
    }

    @Test func `a stream of a fleet ends with it`() async throws {
        try await Self.run(1) { site in
            try await withThrowingTaskGroup(of: Int.self) { group in
                try await site.central.withFleet { fleet in
                    let session = fleet.add(Self.plan(site.sensors[0]))
                    try await session.ready()
                    group.addTask { try await fleet.values.collect().count }
                    try await site.time.sleep(for: .seconds(5))
                }
                let count = try await group.next() ?? 0
                #expect(count >= 4)
            }
        }
    }

    /// Whether the session or the fleet ends first differs by the seed.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `the queue of a session ends with its fleet, also if that is cancelled`(seed: UInt64) async throws {
        try await Self.run(1, seed: seed) { site in
            let added = Recorder<Session>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await site.central.withFleet { fleet in
                        let session = fleet.add(Self.plan(site.sensors[0]))
                        added.add(session)
                        // Without a link, its end takes no time.
                        await session.disconnect()
                        try await site.time.sleep(for: .seconds(3600))
                    }
                }
                try await site.time.sleep(for: .seconds(1))
                group.cancelAll()
            }
            #expect(added.all.count == 1)
            for session in added.all {
                _ = try await session.queue.contents.timeout(.seconds(1), for: .wholeStream).collect()
            }
        }
    }

    /// Whether the fleet or the program is told first differs by the seed.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `a session added while its fleet is being cancelled ends, and can be removed`(seed: UInt64) async throws {
        try await Self.run(1, seed: seed) { site in
            let added = Recorder<Session>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await site.central.withFleet { fleet in
                        await withTaskCancellationHandler {
                            try? await site.time.sleep(for: .seconds(3600))
                        } onCancel: {
                            added.add(fleet.add(Self.plan(site.sensors[0])))
                        }
                        added.add(fleet.add(Self.plan(site.sensors[0])))
                        for session in added.all { await fleet.remove(session) }
                        #expect(fleet.sessions.isEmpty)
                    }
                }
                try await site.time.sleep(for: .seconds(1))
                group.cancelAll()
            }
            #expect(added.all.count == 2)
            for session in added.all { #expect(await bleError { try await session.ready() }?.code == .ended) }
        }
    }
}
