import BLESimulator
import Testing

@testable import BLEStreams

/// Several kept sessions of one peripheral.
@Suite(.timeLimit(.minutes(10))) struct SeveralPlansTests {
    private static func plan(_ bench: Bench, _ characteristic: BluetoothUUID) -> Session.Plan {
        var plan = Session.Plan(bench.peripheral).subscribing(to: characteristic)
        plan.isKept = true
        return plan
    }

    private static func kept(_ central: Central) -> Set<[Session.Subscription]> {
        Set(central.keptPlans.map(\.subscriptions))
    }

    @Test func `plans for one peripheral that run side by side are both restored, again and again`() async throws {
        try await Bench.run { bench in
            let store = PeerStore.inMemory()
            let plans = [Self.plan(bench, Bench.notifying), Self.plan(bench, Bench.counter)]
            let all = Set(plans.map(\.subscriptions))
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await central.withFleet { fleet in
                for plan in plans { try await fleet.add(plan).ready() }
                #expect(Self.kept(central) == all)
            }
            for _ in 0..<2 {
                let next = try await Central.open(.radio(bench.centralAdapter), store: store)
                try await next.withFleet { fleet in
                    let sessions = try fleet.restore()
                    #expect(sessions.count == 2)
                    // The first that is ready doesn't take the other one's plan, which is not ready yet.
                    for session in sessions {
                        try await session.ready()
                        #expect(Self.kept(next) == all)
                    }
                }
                #expect(Self.kept(next) == all)
            }
        }
    }

    @Test func `plans that run side by side, and are stored on each link, leave nothing to write from the second on`()
        async throws
    {
        try await Bench.run { bench in
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            let address = bench.peripheralAdapter.address
            try await central.withFleet { fleet in
                let sessions = [Bench.notifying, Bench.counter].map { fleet.add(Self.plan(bench, $0)) }
                for session in sessions { try await session.ready() }
                let stored = store.record(of: address).sessions
                #expect(stored.count == 2)
                for _ in 0..<3 {
                    bench.air.faults.add(.dropLink(after: .zero))
                    for session in sessions { _ = try await session.states.first { !$0.state.isReady } }
                    for session in sessions {
                        try await session.ready()
                        #expect(store.record(of: address).sessions == stored)
                    }
                }
            }
        }
    }

    @Test func `plans for one peripheral of two centrals with one store are both kept`() async throws {
        try await Bench.run(centrals: 2) { bench in
            let store = PeerStore.inMemory()
            let first = try await Central.open(.radio(bench.centralAdapter), store: store)
            let second = try await Central.open(.radio(bench.air.adapter()), store: store)
            let plans = [Self.plan(bench, Bench.notifying), Self.plan(bench, Bench.counter)]
            try await first.withSession(plans[0]) { session in
                try await session.ready()
                try await second.withSession(plans[1]) { other in
                    try await other.ready()
                    #expect(Self.kept(first) == Set(plans.map(\.subscriptions)))
                    other.forget()
                    #expect(Self.kept(first) == [plans[0].subscriptions])
                }
            }
            #expect(Self.kept(second) == [plans[0].subscriptions])
        }
    }

    @Test func `a new plan of a program takes the place of those that no session follows any more`() async throws {
        try await Bench.run { bench in
            let store = PeerStore.inMemory()
            let central = try await Central.open(.radio(bench.centralAdapter), store: store)
            try await central.withFleet { fleet in
                for characteristic in [Bench.notifying, Bench.counter] {
                    try await fleet.add(Self.plan(bench, characteristic)).ready()
                }
            }
            let next = try await Central.open(.radio(bench.centralAdapter), store: store)
            let plan = Self.plan(bench, Bench.indicating)
            try await next.withSession(plan) { try await $0.ready() }
            #expect(Self.kept(next) == [plan.subscriptions])
        }
    }

    @Test(arguments: [false, true])
    func `a plan of a device whose kind of address nobody knows is forgotten before it is heard`(isInFleet: Bool)
        async throws
    {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), store: .inMemory())
            let address = bench.peripheralAdapter.address
            // The one that is tried first isn't its own.
            let other = BluetoothAddress(rawValue: address.rawValue, kind: address.kind == .public ? .random : .public)
            var plan = Session.Plan(addresses: [other, address])
            plan.isKept = true
            try await central.withSession(plan) { try await $0.ready() }
            #expect(central.keptPlans.map(\.target) == [.addresses([address])])
            // The next run, with the device away.
            bench.peripheralAdapter.powerOff()
            if isInFleet {
                try await central.withFleet { fleet in await fleet.remove(fleet.add(plan)) }
            } else {
                central.session(plan).forget()
            }
            #expect(central.keptPlans.isEmpty)
        }
    }
}
