import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@Suite(.timeLimit(.minutes(10))) struct TraceTests {
    @Test func `a trace has what went over the air, in order and with its fate`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.swallow(.readResponses))
            _ = pair.centralLink.send([0x0A, 3, 0])
            try await time.sleep(for: .seconds(1))
            let sent = time.now
            _ = pair.peripheralLink.send([0x0B, 42])
            pair.peripheralLink.disconnect()
            try await time.sleep(for: .seconds(1))
            let trace = pair.air.trace
            #expect(
                trace.map(\.event) == [
                    .connected(central: pair.central.address, peripheral: pair.peripheral.address),
                    .pdu([0x0A, 3, 0], from: .central, fate: .delivered),
                    .pdu([0x0B, 42], from: .peripheral, fate: .swallowed),
                    .ended(.peripheral, DisconnectReason(.closedLocally)),
                    .ended(.central, DisconnectReason(.closedByPeer)),
                ]
            )
            #expect(trace.map(\.link) == [0, 0, 0, 0, 0])
            #expect(trace[2].time == sent)
            #expect(trace.compactMap(\.pdu) == [[0x0A, 3, 0], [0x0B, 42]])
            #expect(trace.map(\.sender) == [nil, .central, .peripheral, nil, nil])
        }
    }

    @Test func `descriptions name opcode and size, never values`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            _ = pair.peripheralLink.send([0x1B, 5, 0, 222, 223])
            try await time.sleep(for: .seconds(1))
            let text = try #require(pair.air.trace.last.map { "\($0)" })
            #expect(text.hasSuffix("link 0: peripheral sent Handle Value Notification (0x1B), 5 octets"))
            #expect(!text.contains("222") && !text.contains("DE"))
        }
    }

    @Test func `a trace is off unless asked for, bounded, and cleared`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.traceCapacity = 0
            _ = pair.peripheralLink.send([0x1B, 5, 0, 1])
            try await time.sleep(for: .seconds(1))
            #expect(pair.air.trace.isEmpty)
            pair.air.traceCapacity = 3
            for number in 0..<5 as Range<UInt8> { _ = pair.peripheralLink.send([0x1B, 5, 0, number]) }
            try await time.sleep(for: .seconds(1))
            #expect(pair.air.trace.compactMap(\.pdu?.last) == [2, 3, 4])
            pair.air.traceCapacity = 4
            _ = pair.peripheralLink.send([0x1B, 5, 0, 5])
            _ = pair.peripheralLink.send([0x1B, 5, 0, 6])
            try await time.sleep(for: .seconds(1))
            #expect(pair.air.trace.compactMap(\.pdu?.last) == [3, 4, 5, 6])
            pair.air.clearTrace()
            #expect(pair.air.trace.isEmpty)
            #expect(SimulatedAir(time).traceCapacity == 0)
        }
    }

    @Test func `the same seed gives the same trace, another seed another one`() async throws {
        func trace(seed: UInt64) async throws -> [AirRecord] {
            try await VirtualTime.run(seed: seed) { time in
                let air = SimulatedAir(time)
                air.traceCapacity = 100_000
                let phone = air.adapter()
                air.faults.add(.loseLinks(every: .seconds(20)))
                let ended = Log<String>()
                var activities: [RadioActivity] = []
                let sensors = (0..<5).map { _ in air.adapter() }
                for sensor in sensors {
                    let data = AdvertisingData(bytes: [])
                    activities.append(sensor.advertise(AdvertiseRequest(data: data)) { _ in })
                    activities.append(
                        sensor.listen { event in
                            guard case .accepted(let link) = event else { return }
                            link.start(LinkRecorder())
                            for number in 0..<20 as Range<UInt8> { _ = link.send([0x1B, 3, 0, number]) }
                        }
                    )
                }
                await withTaskGroup { group in
                    for sensor in sensors {
                        group.addTask {
                            for _ in 0..<5 {
                                let (over, signal) = AsyncStream<Void>.makeStream()
                                let attempt = phone.connect(to: sensor.address) { result in
                                    guard case .success(let link) = result else { return }
                                    link.start(LinkRecorder { if case .ended = $0 { signal.finish() } })
                                    for number in 0..<9 as Range<UInt8> { _ = link.send([0x0A, number, 0]) }
                                }
                                for await _ in over {}
                                ended.append("\(sensor.name) at \(time.now)")
                                attempt.cancel()
                            }
                        }
                    }
                }
                #expect(ended.values.count == 25)
                for activity in activities { activity.cancel() }
                return air.trace
            }
        }
        let first = try await trace(seed: 11)
        #expect(first.count > 200)
        for _ in 0..<3 { #expect(try await trace(seed: 11) == first) }
        for seed in 12..<16 as Range<UInt64> { #expect(try await trace(seed: seed) != first) }
    }
}
