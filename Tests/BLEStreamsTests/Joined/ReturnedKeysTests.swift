import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// The keys of a joined adapter that has lost them while it was away, or that comes while others are in use.
@Suite(.timeLimit(.minutes(10))) struct ReturnedKeysTests {
    /// Notes in which state it is given keys.
    private struct KeyedRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let given: Recorder<AdapterInfo.State>

        func restore(
            _ bonds: [Bond],
            result: @escaping @Sendable (Result<Void, BLEError>) -> Void
        ) -> RadioActivity {
            if !bonds.isEmpty { given.add(radio.state) }
            return radio.restore(bonds, result: result)
        }
    }

    /// Joins an adapter that has a bond with the peripheral, and calls the body with the time, the way to add another
    /// adapter, and the adapter that has the bond, with what it was given.
    private static func run(
        _ body:
            @escaping @Sendable (
                VirtualTime, @escaping @Sendable (any Radio) -> Void, SimulatedAdapter, Recorder<AdapterInfo.State>
            ) async throws -> Void
    ) async throws {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            let (adapter, sensor, given) = (air.adapter(), air.adapter(), Recorder<AdapterInfo.State>())
            let adds = Recorder<@Sendable (any Radio) -> Void>()
            let joined = JoinedRadio([KeyedRadio(radio: adapter, given: given)], timeline: time) { add in
                adds.add(add)
                return RadioActivity {}
            }
            let central = Central(core: CentralCore(radio: joined, store: .inMemory()))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Bench.description.run(on: sensor) }
                try await central.peripheral(sensor.address).withLink { try await $0.pair() }
                let add = try #require(adds.all.first)
                try await body(time, add, adapter, given)
                group.cancelAll()
            }
            withExtendedLifetime(joined) {}
        }
    }

    /// As the kernel shows an adapter that is plugged in: it is there, then ready, and then somebody switches it on.
    @Test(arguments: [AdapterInfo.State.unknown, .resetting], [AdapterInfo.State.poweredOff, .poweredOn])
    func `an adapter that is back is given its keys when it is ready, once`(
        _ starting: AdapterInfo.State,
        _ ready: AdapterInfo.State
    ) async throws {
        try await Self.run { time, _, adapter, given in
            let before = given.all.count
            for state in [.absent, starting, ready, .poweredOn] as [AdapterInfo.State] {
                adapter.setState(state)
                try await time.sleep(for: .seconds(1))
            }
            #expect(Array(given.all.dropFirst(before)) == [ready])
        }
    }

    @Test func `an adapter that is starting when it comes is given the keys when it is ready`() async throws {
        try await Self.run { time, add, _, _ in
            let (late, given) = (SimulatedAir(time).adapter(), Recorder<AdapterInfo.State>())
            late.setState(.unknown)
            add(KeyedRadio(radio: late, given: given))
            try await time.sleep(for: .seconds(1))
            #expect(given.all.isEmpty)
            late.setState(.poweredOn)
            try await time.sleep(for: .seconds(1))
            #expect(given.all == [.poweredOn])
        }
    }
}
