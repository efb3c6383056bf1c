import BLESimulator
import BLEStreams
import TestBroker
import Testing

@testable import Gateway

@Suite(
    "Gateways that share peripherals",
    .enabled(if: Broker.program != nil && Collector.program != nil, "\(Broker.skipReason)"),
    .serialized,
    .timeLimit(.minutes(10))
)
struct SharingTests {
    @Test("connect to each peripheral once, and take over those of a gateway that ends")
    func ending() async throws {
        let world = try await SharedWorld(gateways: 3, sensors: 4)
        try await world.run {
            var seen = SharedValues()
            await world.take(&seen) { $0.owners.count == 4 }
            for gateway in 0..<3 {
                let held = seen.owners.values.filter { $0 == "g\(gateway)" }.count
                #expect(await world.metric("gateway_leases_held", of: gateway) == held)
                #expect(await world.metric("gateway_leases_gained_total", of: gateway) == held)
                #expect(await world.metric("gateway_leases_followed", of: gateway) == 4)
                #expect(await world.metric("gateway_leases_up", of: gateway) == 1)
            }
            let first = try #require(seen.owners["s0"]?.last?.wholeNumberValue)
            world.stop(first)
            await world.take(&seen) { !$0.owners.values.contains("g\(first)") }
            #expect(seen.owners.count == 4)
            #expect(seen.wrong.isEmpty)
        }
        #expect(world.overlaps == 0)
    }

    @Test("would connect at once without leases: the check sees that")
    func withoutLeases() async throws {
        let world = try await SharedWorld(gateways: 2, sensors: 1)
        try await world.run(isSharing: false) {
            var (seen, gateways) = (SharedValues(), Set<String>())
            await world.take(&seen) { seen in
                gateways.formUnion(seen.owners.values)
                return gateways.count == 2
            }
        }
        #expect(world.overlaps > 0)
    }

    @Test("give up a link before another one connects when the broker can't be reached, though nothing says so")
    func frozen() async throws {
        let world = try await SharedWorld(gateways: 2, sensors: 2)
        try await world.run {
            var seen = SharedValues()
            await world.take(&seen) { $0.owners.count == 2 }
            let first = try #require(seen.owners["s0"]?.last?.wholeNumberValue)
            let held = seen.owners.values.filter { $0 == "g\(first)" }.count
            world.relays[first].isFrozen = true
            await world.take(&seen) { $0.owners["s0"] == "g\(1 - first)" && $0.owners["s1"] == "g\(1 - first)" }
            #expect(!world.adapters[first].activity.links.contains(world.sensors[0].address))
            #expect(await world.metric("gateway_leases_held", of: first) == 0)
            #expect(await world.metric("gateway_leases_lost_total", of: first) == held)
            #expect(seen.wrong.isEmpty)
        }
        #expect(world.overlaps == 0)
    }

    @Test("say first that they hold nothing, whatever one that was killed has left at the broker")
    func leftStates() async throws {
        let world = try await SharedWorld(gateways: 1, sensors: 1)
        let words = ["-h", "127.0.0.1", "-p", "\(world.broker.port)", "-V", "5", "-q", "1", "-r"]
        let message = ["-t", "g0/state/s0", "-m", #"{"peripheral":"s0","state":"ready","ready":true}"#]
        #expect(try await RunningProgram("/usr/bin/mosquitto_pub", words + message).waitForEnd() == 0)
        try await world.run {
            var states: [String] = []
            while states.count < 2, let message = await world.collector.next() {
                if message.topic == "g0/state/s0" { states.append(message.payload) }
            }
            #expect(states.last == #"{"peripheral":"s0","state":"not held","ready":false}"#)
        }
    }

    @Test("hand a peripheral over to the one that receives it better")
    func reception() async throws {
        let world = try await SharedWorld(gateways: 2, sensors: 1)
        try await world.run {
            var seen = SharedValues()
            await world.take(&seen) { $0.owners.count == 1 }
            let first = try #require(seen.owners["s0"]?.last?.wholeNumberValue)
            world.air.setSignal(.dBm(-85), between: world.adapters[first], and: world.sensors[0])
            await world.take(&seen) { $0.owners["s0"] == "g\(1 - first)" }
            #expect(seen.wrong.isEmpty)
        }
        #expect(world.overlaps == 0)
    }

    @Test("leave a peripheral that one of them hears, but can't connect to, to another one")
    func unreachable() async throws {
        let world = try await SharedWorld(gateways: 2, sensors: 1, patience: 10_000)
        try await world.run {
            var seen = SharedValues()
            await world.take(&seen) { $0.owners.count == 1 }
            let first = try #require(seen.owners["s0"]?.last?.wholeNumberValue)
            let (gateway, sensor) = (world.adapters[first], world.sensors[0])
            world.air.faults.add(.neverEstablish(), between: gateway, and: sensor)
            world.air.faults.add(.dropLink(after: Duration.zero), between: gateway, and: sensor)
            await world.take(&seen) { $0.owners["s0"] == "g\(1 - first)" }
            #expect(await world.metric("gateway_leases_unreachable_total", of: first) == 1)
            let (values, changes) = (seen.values, seen.changes)
            // It is received as well as before, but doesn't come back.
            world.air.setSignal(.dBm(-85), between: world.adapters[1 - first], and: sensor)
            await world.take(&seen) { $0.values == values + 100 }
            #expect(seen.changes == changes)
            #expect(seen.wrong.isEmpty)
        }
        #expect(world.overlaps == 0)
    }

    @Test("take a peripheral up again after the broker was away")
    func brokerAway() async throws {
        let world = try await SharedWorld(gateways: 2, sensors: 2)
        try await world.run {
            var seen = SharedValues()
            await world.take(&seen) { $0.owners.count == 2 }
            await world.broker.stop()
            try await world.broker.start()
            let before = seen.values
            await world.take(&seen) { $0.values > before + 100 && $0.owners.count == 2 }
            #expect(seen.wrong.isEmpty)
        }
        #expect(world.overlaps == 0)
    }
}
