import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// What sessions ask of the radio while they search.
@Suite(.timeLimit(.minutes(10))) struct SessionScanTests {
    /// A simulated adapter that notes what scans ask for.
    private struct WatchedRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let requests = Recorder<ScanRequest>()

        func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
            requests.add(request)
            return radio.scan(request, events: events)
        }
    }

    @Test(
        arguments: [
            (Session.SearchChoice.first, [ScanFilter.service(BluetoothUUID(0xA000))], false),
            (.first, [.namePrefix("Be"), .service(BluetoothUUID(0xA000))], false),
            // What was heard from afar first may come nearer.
            (.first, [.rssi(atLeast: -100)], true),
            (.strongest(within: .seconds(1)), [.service(BluetoothUUID(0xA000))], true),
        ] as [(Session.SearchChoice, [ScanFilter], Bool)]
    )
    func `a search asks for every advertisement only where it needs them`(
        _ choice: Session.SearchChoice,
        _ filters: [ScanFilter],
        _ needsDuplicates: Bool
    ) async throws {
        try await Bench.run { bench in
            let radio = WatchedRadio(radio: bench.centralAdapter)
            let central = try await Central.open(.radio(radio))
            try await central.withSession(Session.Plan(finding: filters, choosing: choice)) { session in
                try await session.ready(timeout: .seconds(30))
            }
            #expect(!radio.requests.all.isEmpty)
            #expect(radio.requests.all.allSatisfy { $0.reportsDuplicates == needsDuplicates })
        }
    }

    @Test func `a signal window lets through what lies within both bounds, and the bounds themselves`() async throws {
        try await Bench.run { bench in
            let filter = ScanFilter.rssi(-80 ... -60)
            for (level, isHeard) in [(-81, false), (-80, true), (-70, true), (-60, true), (-59, false)] {
                bench.air.setSignal(.dBm(level), between: bench.centralAdapter, and: bench.peripheralAdapter)
                let heard = try await bench.central.scan(for: filter).take(until: bench.time.after(.seconds(5)))
                    .collect()
                #expect(heard.count == (isHeard ? 1 : 0), "\(level) dBm")
                #expect(heard.allSatisfy { $0.rssi == level })
            }
            bench.air.setSignal(.unknown, between: bench.centralAdapter, and: bench.peripheralAdapter)
            let unknown = try await bench.central.scan(for: filter).take(until: bench.time.after(.seconds(5))).collect()
            #expect(unknown.isEmpty)
        }
    }

    @Test func `a session with a signal window waits until the peripheral is in it`() async throws {
        try await Bench.run { bench in
            bench.air.setSignal(.dBm(-90), between: bench.centralAdapter, and: bench.peripheralAdapter)
            let timer = bench.time.schedule(after: .seconds(20)) {
                bench.air.setSignal(.dBm(-50), between: bench.centralAdapter, and: bench.peripheralAdapter)
            }
            try await bench.central.withSession(Session.Plan(finding: .rssi(-60 ... -40))) { session in
                try await bench.time.sleep(for: .seconds(19))
                #expect(session.state.kind == .scanning)
                try await session.ready(timeout: .seconds(3))
            }
            timer.cancel()
        }
    }

    /// Runs the body with a session that searches for a peripheral whose address changes, and that a single attempt in
    /// vain would end.
    private func searchForPrivate(
        _ body: @escaping @Sendable (Bench, Session) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true, interrupting: true)
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            var plan = Session.Plan(finding: .service(BluetoothUUID(0xA000)))
            plan.reconnecting = nil
            try await central.withSession(plan) { session in try await body(bench, session) }
        }
    }

    @Test func `one that was found under a changing address is searched for when its session is told to connect`()
        async throws
    {
        try await searchForPrivate { bench, session in
            for _ in 0..<2 {
                try await session.ready()
                #expect(session.peripheral?.address == bench.peripheralAdapter.addressOnAir)
                await session.disconnect()
                bench.peripheralAdapter.renewPrivateAddress()
                try session.connect()
            }
            try await session.ready()
        }
    }

    @Test(arguments: [true, false])
    func `one that a bond has revealed behind its changing addresses is searched for once that bond is removed`(
        byItself: Bool
    ) async throws {
        try await Bench.run { bench in
            try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true, interrupting: true)
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            let plan = Session.Plan(finding: .service(BluetoothUUID(0xA000)))
            try await central.withSession(plan) { session in
                try await session.withLink { try await $0.pair() }
                bench.peripheralAdapter.renewPrivateAddress()
                bench.air.faults.add(.dropLink(after: .zero))
                _ = try await session.states.first { !$0.state.isReady }
                try await session.ready()
                let known = try #require(session.peripheral)
                #expect(known.address == bench.peripheralAdapter.address)
                // Or another program removes it, of which only the store knows.
                let remover = try await byItself ? central : Central.open(.radio(bench.centralAdapter), store: store)
                try await remover.peripheral(known.address).unpair()
                bench.peripheralAdapter.renewPrivateAddress()
                _ = try await session.states.first { !$0.state.isReady }
                try await session.ready(timeout: .seconds(30))
                #expect(session.peripheral?.address == bench.peripheralAdapter.addressOnAir)
            }
        }
    }

    @Test func `one with a bond of an earlier run is searched for once that bond is removed`() async throws {
        try await Bench.run { bench in
            try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true, interrupting: true)
            let store = PeerStore.inMemory()
            let earlier = try await Central.open(.radio(bench.centralAdapter), store: store)
            let found = earlier.peripheral(bench.peripheralAdapter.addressOnAir)
            try await found.withLink { try await $0.pair() }
            bench.peripheralAdapter.renewPrivateAddress()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await central.withSession(Session.Plan(finding: .service(BluetoothUUID(0xA000)))) { session in
                try await session.ready()
                let known = try #require(session.peripheral)
                #expect(known.address == bench.peripheralAdapter.address)
                try await known.unpair()
                bench.peripheralAdapter.renewPrivateAddress()
                _ = try await session.states.first { !$0.state.isReady }
                try await session.ready(timeout: .seconds(30))
                #expect(session.peripheral?.address == bench.peripheralAdapter.addressOnAir)
            }
        }
    }

    @Test func `one whose bond is removed while its session is disconnected is searched for when that is to connect`()
        async throws
    {
        try await searchForPrivate { bench, session in
            try await session.withLink { try await $0.pair() }
            await session.disconnect()
            bench.peripheralAdapter.renewPrivateAddress()
            try session.connect()
            try await session.ready()
            let known = try #require(session.peripheral)
            #expect(known.address == bench.peripheralAdapter.address)
            await session.disconnect()
            try await known.unpair()
            bench.peripheralAdapter.renewPrivateAddress()
            try session.connect()
            try await session.ready()
            #expect(session.peripheral?.address == bench.peripheralAdapter.addressOnAir)
        }
    }
}
