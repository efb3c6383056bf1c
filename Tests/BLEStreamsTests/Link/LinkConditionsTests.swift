import BLERadio
import BLESimulator
import BLEStreams
import Testing

@Suite struct LinkConditionsTests {
    @Test func `a link has the parameters of its call, of its peripheral, or of its central, in this order`()
        async throws
    {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), parameters: .lowPower)
            let peripheral = central.peripheral(bench.peripheralAdapter.address)
            let common = try await peripheral.withLink { try await $0.conditions() }
            #expect(common.interval == .milliseconds(125))
            #expect(common.latency == 2)
            #expect(common.supervisionTimeout == .seconds(6))
            #expect(common.rssi == -60)
            #expect(common.whyIncomplete == nil)

            try await peripheral.prefer(.fast)
            let preferred = try await peripheral.withLink { try await $0.conditions() }
            #expect(preferred.interval == .milliseconds(15))

            let own = try await peripheral.withLink(parameters: .balanced) { try await $0.conditions() }
            #expect(own.interval == .milliseconds(50))

            try await peripheral.prefer(nil)
            let again = try await peripheral.withLink { try await $0.conditions() }
            #expect(again.interval == .milliseconds(125))
        }
    }

    @Test func `what is preferred changes the link that is up, and the stream tells`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink(parameters: .balanced) { link in
                async let told = link.conditionChanges.map(\.interval).collect(3)
                try await bench.time.sleep(for: .seconds(1))
                try await bench.peripheral.prefer(.fast)
                try await bench.time.sleep(for: .seconds(1))
                try await bench.peripheral.prefer(.lowPower)
                #expect(try await told == [.milliseconds(50), .milliseconds(15), .milliseconds(125)])
                // It carries as before.
                #expect(Array(try await link.read(Bench.readable)) == [1, 2, 3])
            }
        }
    }

    @Test func `a link lives through a silence that is shorter than its supervision timeout`() async throws {
        try await Bench.run { bench in
            let signal = bench
            try await bench.peripheral.withLink(parameters: .balanced) { link in
                for silence in [Duration.seconds(4), .seconds(6)] {
                    signal.air.setSignal(.outOfRange, between: bench.centralAdapter, and: bench.peripheralAdapter)
                    try await bench.time.sleep(for: silence)
                    signal.air.setSignal(.dBm(-60), between: bench.centralAdapter, and: bench.peripheralAdapter)
                    guard silence > .seconds(5) else {
                        _ = try await link.read(Bench.readable)
                        continue
                    }
                    let error = await bleError { _ = try await link.read(Bench.readable) }
                    #expect(error?.reason?.kind == .supervisionTimeout)
                }
            }
        }
    }

    @Test func `the stream of conditions ends with the link`() async throws {
        try await Bench.run { bench in
            var changes: BLEStream<LinkConditions>?
            try await bench.peripheral.withLink { link in changes = link.conditionChanges }
            let stream = try #require(changes)
            // Closed by this side: it ends without an error.
            _ = try await stream.collect()

            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    for try await _ in link.conditionChanges { bench.peripheralAdapter.powerOff() }
                }
            }
            #expect(error?.code == .disconnected)
        }
    }

    @Test func `a session's links have the parameters of its plan`() async throws {
        try await Bench.run { bench in
            var plan = SessionPlan(bench.peripheral)
            plan.parameters = .fast
            try await bench.central.withSession(plan) { session in
                _ = try await session.read(Bench.readable)
                let conditions = try await bench.peripheral.withLink { try await $0.conditions() }
                #expect(conditions.interval == .milliseconds(15))
            }
        }
    }
}
