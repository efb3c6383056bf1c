import BLESimulator
import Foundation
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct RestorationTests {
    private static let discovered = Characteristic(
        uuid: Bench.notifying,
        properties: [.read, .notify],
        handle: 0x10,
        valueHandle: 0x11,
        endHandle: 0x12,
        descriptors: [Descriptor(uuid: BluetoothUUID(0x2902), handle: 0x12)]
    )

    private static func plan(_ address: BluetoothAddress) -> Session.Plan {
        var plan = Session.Plan(address).subscribing(to: .uuid(Bench.notifying, in: BluetoothUUID(0xA000)))
            .subscribing(to: .handle(0x1234), indications: true)
        plan.requiredServices = [BluetoothUUID(0xA000), .heartRate]
        plan.limits.search = nil
        plan.limits.connect = .milliseconds(12_500)
        plan.reconnecting = .exponential(from: .seconds(1), attempts: 7, stableAfter: .seconds(42))
        plan.immediateAttempts = 5
        plan.parameters = .fast
        plan.isKept = true
        return plan
    }

    @Test func `a plan comes back from the disk as it was`() throws {
        let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        var extreme = Session.Plan(address)
        extreme.reconnecting = .exponential(factor: .infinity, jitter: .nan)
        var limited = Self.plan(address)
        let limits = try ConnectionParameters.Limits(
            interval: .milliseconds(15) ... .milliseconds(500),
            latency: 4,
            supervisionTimeout: .seconds(2) ... .seconds(20),
            corrections: 2
        )
        limited.parameters = try ConnectionParameters.balanced.limited(to: limits)
        let discovered = Session.Plan(address).subscribing(to: Self.discovered)
        for var plan in [Self.plan(address), Session.Plan(address), extreme, limited, discovered] {
            plan.isKept = true
            let data = try JSONEncoder().encode(SessionRecord(plan, name: "Sensor"))
            let record = try JSONDecoder().decode(SessionRecord.self, from: data)
            #expect(record.plan(for: address) == plan && record.name == "Sensor")
        }
        // Files of before that say nothing of it.
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let old = try encoder.encode(SessionRecord(Self.plan(address), name: nil))
        let text = String(decoding: old, as: UTF8.self).replacing(#","stableAfter":42"#, with: "")
        let plan = try JSONDecoder().decode(SessionRecord.self, from: Data(text.utf8)).plan(for: address)
        #expect(text.count < old.count && plan?.reconnecting?.stableAfter == .seconds(10))
        var damaged = SessionRecord(Self.plan(address), name: nil)
        damaged.requiredServices = ["nonsense"]
        #expect(damaged.plan(for: address) == nil)
        var impossible = SessionRecord(discovered, name: nil)
        impossible.subscriptions[0].characteristic?.uuid = "nonsense"
        #expect(impossible.plan(for: address) == nil)
    }

    @Test func `limits of the connection that somebody has made impossible are none`() throws {
        let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        var plan = Self.plan(address)
        plan.parameters = try ConnectionParameters.fast.limited(to: ConnectionParameters.Limits(latency: 4))
        let record = SessionRecord(plan, name: nil)
        #expect(record.plan(for: address)?.parameters == plan.parameters)
        for impossible in [
            \SessionRecord.ParameterLimits.shortestInterval, \.shortestTimeout,
        ] {
            var edited = record
            edited.parameters?.limits?[keyPath: impossible] = 1000
            #expect(edited.plan(for: address)?.parameters == .fast)
        }
    }

    @Test(arguments: [1e19, 1e300, -1e300])
    func `numbers that somebody has put into the file, and no clock holds, are bounded`(number: Double) throws {
        let address = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        var edited = SessionRecord(Self.plan(address), name: nil)
        edited.limits = .init(search: number, connect: number, discover: number, initialise: number, subscribe: number)
        edited.reconnecting = .init(
            attempts: 7,
            firstDelay: number,
            factor: number,
            longestDelay: number,
            jitter: number,
            stableAfter: number
        )
        let plan = try #require(edited.plan(for: address))
        let century = Duration.seconds(101 * 366 * 86_400)
        let limits = plan.limits
        for limit in [limits.search ?? .zero, limits.connect, limits.discover, limits.initialise, limits.subscribe] {
            #expect(.zero <= limit && limit <= century)
        }
        for failure in 1...7 {
            let delay = try #require(plan.reconnecting?.delay(afterFailure: failure, random: .max))
            #expect(delay <= century * 2)
        }
        #expect(SessionRecord(plan, name: nil).plan(for: address) == plan)
    }

    @Test func `a program that begins again gets its sessions back with one call`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let store = PeerStore.inMemory()
            let first = try await Central.open(.radio(bench.centralAdapter), store: store)
            var plan = Session.Plan(finding: .service(BluetoothUUID(0xA000))).subscribing(to: Bench.notifying)
            plan.isKept = true
            try await first.withFleet { fleet in
                #expect(try fleet.restore().isEmpty)
                fleet.add(plan)
                _ = try await fleet.values.collect(3)
            }
            let second = try await Central.open(.radio(bench.centralAdapter), store: store)
            #expect(second.keptPlans.map(\.subscriptions) == [plan.subscriptions])
            try await second.withFleet { fleet in
                let sessions = try fleet.restore()
                try #require(sessions.count == 1)
                let kinds = try await sessions[0].states.take(until: { $0.state.isReady }).map(\.state.kind).collect()
                #expect(!kinds.contains(.scanning) && kinds.contains(.connecting))
                let values = try await fleet.values.collect(3)
                #expect(values.allSatisfy { $0.peripheral?.address == bench.peripheralAdapter.address })
                await fleet.remove(sessions[0])
            }
            let third = try await Central.open(.radio(bench.centralAdapter), store: store)
            #expect(third.keptPlans.isEmpty)
        }
    }

    @Test func `a fleet that removes a session leaves what another one keeps`() async throws {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            var plan = Session.Plan(bench.peripheral)
            plan.isKept = true
            try await central.withSession(plan) { try await $0.ready() }
            try await central.withFleet { fleet in
                let watching = fleet.add(Session.Plan(bench.peripheral))
                try await watching.ready()
                await fleet.remove(watching)
            }
            #expect(central.keptPlans == [plan])
        }
    }

    @Test(arguments: [false, true])
    func `a plan that takes the place of another one, which is removed behind it, is restored`(isSame: Bool)
        async throws
    {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            var old = Session.Plan(bench.peripheral)
            old.isKept = true
            let new = isSame ? old : old.subscribing(to: Bench.notifying)
            try await central.withFleet { fleet in
                let former = fleet.add(old)
                try await former.ready()
                let session = fleet.add(new)
                try await session.ready()
                await fleet.remove(former)
            }
            let next = try await Central.open(.radio(bench.centralAdapter), store: store)
            #expect(next.keptPlans == [new])
            try await next.withFleet { fleet in
                for session in try fleet.restore() { await fleet.remove(session) }
            }
            #expect(next.keptPlans.isEmpty)
        }
    }

    private static func keptPlan() -> Session.Plan {
        var plan = Session.Plan(finding: .service(BluetoothUUID(0xA000)))
        plan.isKept = true
        return plan
    }

    @Test(arguments: [true, false])
    func `a session whose device goes from address to address is stored for the last one, until it is removed`(
        isReady: Bool
    ) async throws {
        try await Bench.run { bench in
            try await Central.open(.radio(bench.peripheralAdapter)).setPrivacy(true, interrupting: true)
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            try await central.withFleet { fleet in
                let session = fleet.add(Self.keptPlan())
                for _ in 0..<3 {
                    try await session.ready()
                    #expect(central.keptPlans.map(\.target) == [.addresses([bench.peripheralAdapter.addressOnAir])])
                    bench.peripheralAdapter.renewPrivateAddress()
                    bench.air.faults.add(.dropLink(after: .zero))
                    _ = try await session.states.first { !$0.state.isReady }
                }
                if isReady {
                    try await session.ready()
                } else {
                    // Then it has no address.
                    bench.peripheralAdapter.powerOff()
                    _ = try await session.states.first { $0.state.kind == .scanning }
                    #expect(session.peripheral == nil)
                }
                await fleet.remove(session)
            }
            #expect(central.keptPlans.isEmpty)
        }
    }

    @Test func `what another session has stored for the former address stays`() async throws {
        try await Bench.run(centrals: 2) { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            let other = bench.air.adapter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await central.withFleet { fleet in
                    let session = fleet.add(Self.keptPlan())
                    try await session.ready()
                    var plan = Session.Plan(bench.peripheral)
                    plan.isKept = true
                    try await fleet.add(plan).ready()
                    bench.peripheralAdapter.powerOff()
                    group.addTask { try await Bench.description.run(on: other) }
                    await session.disconnect()
                    try session.search()
                    try await session.ready()
                    let targets: Set = [plan.target, .addresses([other.address])]
                    #expect(Set(central.keptPlans.map(\.target)) == targets)
                }
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    @Test func `a session that is forgotten stays so on its next link`() async throws {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            try await central.withSession(Self.keptPlan()) { session in
                try await session.ready()
                #expect(central.keptPlans.count == 1)
                session.forget()
                bench.air.faults.add(.dropLink(after: .zero))
                _ = try await session.states.first { !$0.state.isReady }
                try await session.ready()
                #expect(central.keptPlans.isEmpty)
            }
        }
    }

    @Test func `a session that is forgotten while the disk is full is so once there is room`() async throws {
        try await StoreChild.with { child in
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            try await Bench.run { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await central.withSession(Self.keptPlan()) { session in
                    try await session.ready()
                    await bench.time.holding { await store.flush() }
                    try child.fillDisk()
                    session.forget()
                    await bench.time.holding { await store.flush() }
                    #expect(warnings.all.count == 1 && central.keptPlans.isEmpty)
                    try child.freeDisk()
                }
                await bench.time.holding { await store.flush() }
                let later = try await Central.open(.radio(bench.centralAdapter), store: PeerStore(folder: child.folder))
                #expect(later.keptPlans.isEmpty)
            }
        }
    }

    @Test func `a session that became ready while the disk was full is restored once there is room`() async throws {
        try await StoreChild.with { child in
            await child.remember(.planted(9, with: StoreChild.other))
            try child.fillDisk()
            let store = PeerStore(folder: child.folder) { _ in }
            try await Bench.run { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await central.withSession(Self.keptPlan()) { session in
                    try await session.ready()
                    await bench.time.holding { await store.flush() }
                    #expect(central.keptPlans.count == 1)
                    try child.freeDisk()
                    await bench.time.holding { await store.flush() }
                    // The session goes on: the program may be killed.
                    let written = PeerStore(folder: child.folder).record(of: bench.peripheralAdapter.address)
                    #expect(written.sessions.count == 1)
                }
            }
        }
    }

    @Test func `a plan that demands what nobody knows is left out with a warning, and the others are restored`()
        async throws
    {
        try await StoreChild.with { child in
            let warnings = Recorder<BLEError>()
            let store = PeerStore(folder: child.folder) { warnings.add($0) }
            for peer in [StoreChild.peer, StoreChild.other] {
                var record = SessionRecord(Self.plan(peer), name: nil)
                if peer == StoreChild.peer { record.security = "of the future" }
                store.update(peer) { [record] in $0.session = record }
            }
            try await Bench.run { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                #expect(central.keptPlans == [Self.plan(StoreChild.other)])
                await bench.time.holding { await store.flush() }
                #expect(warnings.all.map(\.object) == ["the session with \(StoreChild.peer)"])
            }
        }
    }

    @Test func `plans in a folder that can't be read are not taken for none`() async throws {
        try await StoreChild.with { child in
            let store = PeerStore(folder: child.folder) { _ in }
            try await Bench.run { bench in
                let central = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await central.withSession(Self.keptPlan()) { try await $0.ready() }
                await bench.time.holding { await store.flush() }
                try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: child.folder)
                try await central.withFleet { fleet in
                    let error = #expect(throws: BLEError.self) { try fleet.restore() }
                    #expect(error?.operation == "restore sessions" && error?.remedy.isEmpty == false)
                    #expect(error?.cause.contains(child.folder) == true && fleet.sessions.isEmpty)
                    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: child.folder)
                    #expect(try fleet.restore().count == 1)
                }
            }
        }
    }

    @Test func `a session that nobody wants kept is not`() async throws {
        try await Bench.run { bench in
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await central.withSession(Session.Plan(bench.peripheral)) { try await $0.ready() }
            #expect(central.keptPlans.isEmpty)
        }
    }
}
