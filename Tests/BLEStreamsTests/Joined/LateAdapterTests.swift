import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Testing

@testable import BLEStreams

/// Adapters that come to the joined ones while they are used.
@Suite(.timeLimit(.minutes(10))) struct LateAdapterTests {
    /// Notes whether it is idle when it is switched off and on.
    private struct WatchedRadio: RelayingRadio {
        let radio: SimulatedAdapter
        let wasIdle: Recorder<Bool>

        func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
            wasIdle.add(radio.activity.connecting.isEmpty)
            radio.powerCycle(result: result)
        }
    }

    @Test func `an attempt that is under way is not at one that came later while that is switched off and on`()
        async throws
    {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            let (first, late, absent) = (air.adapter(), air.adapter(), air.adapter())
            let adds = Recorder<@Sendable (any Radio) -> Void>()
            let joined = JoinedRadio([first], timeline: time) { add in
                adds.add(add)
                return RadioActivity {}
            }
            let plan = RecoveryPlan(steps: [.powerCycle])
            let central = Central(core: CentralCore(radio: joined, store: .inMemory(), recovery: plan))
            let wasIdle = Recorder<Bool>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = await bleError {
                        try await central.peripheral(absent.address).withLink(timeout: .seconds(60)) { _ in }
                    }
                    #expect(error?.code == .timedOut)
                }
                try await time.sleep(for: .seconds(1))
                for add in adds.all { add(WatchedRadio(radio: late, wasIdle: wasIdle)) }
                // The first one has its turn for five seconds.
                try await time.sleep(for: .seconds(6))
                #expect(late.activity.connecting == [absent.address])
                late.hang()
                group.addTask { for try await _ in central.scan(duplicates: true) {} }
                try await group.next()
                group.cancelAll()
            }
            #expect(wasIdle.all == [true])
        }
    }
}
