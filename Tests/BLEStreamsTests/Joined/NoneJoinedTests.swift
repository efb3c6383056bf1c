import BLEProtocol
import BLERadio
import BLESimulator
import RadioContract
import Testing

@testable import BLEStreams

/// Joined adapters of which none has turned up yet, or of which one is asked twice.
@Suite(.timeLimit(.minutes(10))) struct NoneJoinedTests {
    private static let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)

    /// What a radio's result says.
    private static func failure<Value: Sendable>(
        _ start: (@escaping @Sendable (Result<Value, BLEError>) -> Void) -> RadioActivity
    ) async -> BLEError? {
        await Events(start).next()?.failure
    }

    @Test func `whatever is asked of no adapter at all fails later, and says to plug one in`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let none = JoinedRadio([], timeline: time)
            var failures: [BLEError?] = [
                await Self.failure { none.connect(to: Self.peer, result: $0) },
                await Self.failure { none.setPowered(true, result: $0) },
                await Self.failure { none.setPowered(false, result: $0) },
                await Self.failure { none.reset(result: $0) },
                await Self.failure { none.pair(with: Self.peer, asking: .justWorks, result: $0) },
                await Self.failure { none.restore([], result: $0) },
                await Self.failure { none.unpair(Self.peer, result: $0) },
                await Events {
                    none.powerCycle(result: $0)
                    return RadioActivity {}
                }.next()?.failure,
            ]
            failures.append(
                await Events { none.scan(ScanRequest(), events: $0) }.first {
                    if case .failed(let error) = $0 { error } else { nil }
                }
            )
            failures.append(
                await Events { none.listen(events: $0) }.first {
                    if case .failed(let error) = $0 { error } else { nil }
                }
            )
            let request = AdvertiseRequest([.localName("nobody")])
            failures.append(
                await Events { none.advertise(request, events: $0) }.first {
                    if case .failed(let error) = $0 { error } else { nil }
                }
            )
            let reception = PairingReception(.noInputNoOutput) { _ in .justWorks }
            failures.append(
                await Events { none.receivePairings(reception, events: $0) }.first {
                    if case .ended(let error) = $0 { error } else { nil }
                }
            )
            for failure in failures {
                #expect(
                    failure?.code == .adapterNotFound && failure?.remedy == "Plug one in.",
                    "\(String(describing: failure))"
                )
            }
            let settled = Events<Void> { yield in none.settle { yield(()) } }
            #expect(await settled.next() != nil)
            #expect(none.adapterInfo.state == .absent && none.bond(among: [], with: [Self.peer]) == nil)
        }
    }

    @Test func `an adapter that is on already when it is found is told to those who wait for one`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let adds = Recorder<@Sendable (any Radio) -> Void>()
            let radio = JoinedRadio([], timeline: time) { add in
                adds.add(add)
                return RadioActivity {}
            }
            let told = Recorder<AdapterInfo>()
            let watch = radio.observeAdapter { told.add($0) }
            try await time.sleep(for: .seconds(1))
            let air = SimulatedAir(time)
            for add in adds.all { add(air.adapter(name: "near")) }
            try await time.sleep(for: .seconds(1))
            #expect(told.all.map(\.state) == [.absent, .poweredOn])
            for add in adds.all { add(air.adapter(name: "far")) }
            try await time.sleep(for: .seconds(1))
            #expect(told.all.map(\.name) == ["no adapter", "near", "near+far"])
            watch.cancel()
            #expect(radio.adapterInfo.name == "near+far")
        }
    }

    @Test func `a second scan, and a second attempt to the same peer, are told to share the first`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let radio = JoinedRadio([SimulatedAir(time).adapter()], timeline: time)
            let scan = Events { radio.scan(ScanRequest(), events: $0) }
            let second = await Events { radio.scan(ScanRequest(), events: $0) }
                .first { if case .failed(let error) = $0 { error } else { nil } }
            #expect(second?.code == .busy && second?.remedy.isEmpty == false)
            scan.activity.cancel()
            let third = Events { radio.scan(ScanRequest(), events: $0) }
            let isStarted = await third.first { if case .started = $0 { true } else { nil } }
            #expect(isStarted == true, "the first one's place is free again")
            third.activity.cancel()
            let attempt = Events { radio.connect(to: Self.peer, result: $0) }
            let other = await Self.failure { radio.connect(to: Self.peer, result: $0) }
            #expect(other?.code == .busy && other?.remedy.isEmpty == false)
            attempt.activity.cancel()
        }
    }

    @Test func `all that are there are switched and reset, and one that fails is told`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let air = SimulatedAir(time)
            let adapters = [air.adapter(), air.adapter()]
            let radio = JoinedRadio(adapters, timeline: time)
            _ = try await Events { radio.setPowered(false, result: $0) }.next()?.get()
            #expect(adapters.allSatisfy { $0.state == .poweredOff })
            _ = try await Events { radio.setPowered(true, result: $0) }.next()?.get()
            #expect(adapters.allSatisfy { $0.state == .poweredOn })
            _ = try await Events {
                radio.powerCycle(result: $0)
                return RadioActivity {}
            }.next()?.get()
            _ = try await Events { radio.reset(result: $0) }.next()?.get()
            #expect(adapters.allSatisfy { $0.state == .poweredOn })
        }
    }
}
