import BLESimulator
import BLEStreams
import Testing

/// A gateway that serves a phone and reads a sensor, on one adapter that can't be peripheral and central at once.
@Suite(.timeLimit(.minutes(10))) struct ExcludedRolesTests {
    private static let gateway = LocalPeripheral(name: "Gateway") {
        LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([4]))
        }
    }

    /// The bench's central is the gateway, its peripheral the sensor; the phone is connected for the first 20 seconds.
    private static func besidePhone(
        _ body: @escaping @Sendable (Bench, _ phone: SimulatedAdapter) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            let radio = bench.air.adapter()
            let phone = try await Central.open(.radio(radio))
            bench.centralAdapter.settings.combinesRoles = false
            try await gateway.run(on: bench.centralAdapter) { _ in
                async let visit: Void = phone.peripheral(bench.centralAdapter.address).withLink { _ in
                    try await bench.time.sleep(for: .seconds(20) - bench.time.now)
                }
                while bench.centralAdapter.activity.links.isEmpty { try await bench.time.sleep(for: .seconds(1)) }
                try await body(bench, radio)
                try await visit
            }
        }
    }

    @Test func `a link is waited for until the central has gone`() async throws {
        try await Self.besidePhone { bench, _ in
            try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
            #expect(bench.time.now > .seconds(20) && bench.time.now < .seconds(22))
        }
    }

    @Test func `where the limit passes the error names the peripheral, the central and two remedies`() async throws {
        try await Self.besidePhone { bench, phone in
            let error = await bleError { try await bench.peripheral.withLink(timeout: .seconds(5)) { _ in } }
            #expect(error?.code == .timedOut && error?.operation == "connect" && error?.elapsed == .seconds(5))
            #expect(error?.object == "to \(bench.peripheralAdapter.address)")
            #expect(error?.cause.contains("the central \(phone.address) is connected to it") == true)
            #expect(error?.remedy.contains("ConnectedCentral.disconnect()") == true)
            #expect(error?.remedy.contains("another adapter") == true)
            // The central is as it was, and nothing of the attempt is left.
            #expect(bench.centralAdapter.activity.links == [phone.address])
            #expect(bench.centralAdapter.activity.connecting.isEmpty)
        }
    }

    @Test func `joined adapters name the central, unless one of them could have connected`() async throws {
        try await Self.besidePhone { bench, phone in
            let only = try await Central.open(.joined([.radio(bench.centralAdapter)]))
            let peripheral = only.peripheral(bench.peripheralAdapter.address)
            let error = await bleError { try await peripheral.withLink(timeout: .seconds(5)) { _ in } }
            #expect(error?.cause.contains("the central \(phone.address) is connected to it") == true)
            let both = try await Central.open(.joined([.radio(bench.centralAdapter), .radio(bench.air.adapter())]))
            let absent = both.peripheral(BluetoothAddress(rawValue: 0xC000_0000_0009, kind: .random))
            let vain = await bleError { try await absent.withLink(timeout: .seconds(5)) { _ in } }
            #expect(vain?.cause == "the peripheral did not accept a connection within 5.0 seconds")
        }
    }

    @Test func `of two who wait for one link each hears of its own limit`() async throws {
        try await Self.besidePhone { bench, phone in
            async let patient: Void = bench.peripheral.withLink {
                try await $0.expect(Bench.readable, reads: [1, 2, 3])
            }
            try await bench.time.sleep(for: .seconds(1))
            let error = await bleError { try await bench.peripheral.withLink(timeout: .seconds(5)) { _ in } }
            #expect(error?.cause.contains("\(phone.address)") == true)
            try await patient
        }
    }

    @Test func `a session, a queue and a scan wait with it, or go on`() async throws {
        try await Self.besidePhone { bench, _ in
            let plan = Session.Plan(bench.peripheral).subscribing(to: Bench.notifying)
            try await bench.central.withSession(plan) { session in
                async let queued = bench.peripheral.withQueue { queue in
                    try await queue.connecting(timeout: .seconds(60)).run(.read(Bench.readable))
                }
                // Whoever scans hears the sensor meanwhile.
                let heard = try await bench.central.scan(duplicates: true).collect(20)
                #expect(heard.contains { $0.address == bench.peripheralAdapter.address })
                #expect(bench.time.now < .seconds(20) && !session.state.isReady)
                try await session.ready()
                #expect(bench.time.now > .seconds(20))
                let answer = Array(try await queued)
                #expect(answer == [1, 2, 3])
            }
        }
    }

    @Test func `an adapter that can be both does not wait, and blames no central for who is absent`() async throws {
        try await Self.besidePhone { bench, _ in
            bench.centralAdapter.settings.combinesRoles = true
            try await bench.peripheral.withLink { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
            #expect(bench.time.now < .seconds(20))
            let absent = bench.central.peripheral(BluetoothAddress(rawValue: 0xC000_0000_0009, kind: .random))
            let error = await bleError { try await absent.withLink(timeout: .seconds(5)) { _ in } }
            #expect(error?.cause == "the peripheral did not accept a connection within 5.0 seconds")
        }
    }

    @Test func `who begins to serve while it has a link as central is told of it, and is served afterwards`()
        async throws
    {
        try await Bench.run { bench in
            bench.centralAdapter.settings.combinesRoles = false
            let adapter = bench.centralAdapter
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await Self.gateway.run(on: adapter) { _ in } }
                #expect(error?.code == .busy && error?.operation == "advertise" && error?.isFinal == false)
                #expect(error?.cause.contains("\(bench.peripheralAdapter.address)") == true, "\(error as Any)")
                #expect(error?.remedy.contains("LocalPeripheral.resuming") == true)
                // A beacon takes no links.
                try await LocalPeripheral.beacon([.localName("Beacon")]).run(on: adapter) { _ in }
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
            try await Self.gateway.run(on: adapter) { _ in }
        }
    }

    @Test func `one that resumes is served once the link has ended`() async throws {
        try await Bench.run { bench in
            let (adapter, time) = (bench.centralAdapter, bench.time)
            adapter.settings.combinesRoles = false
            var gateway = Self.gateway
            gateway.resuming = .constant(.seconds(1))
            try await withThrowingTaskGroup(of: Void.self) { [gateway] group in
                group.addTask { try await bench.peripheral.withLink { _ in try await time.sleep(for: .seconds(10)) } }
                while adapter.activity.links.isEmpty { try await time.sleep(for: .milliseconds(100)) }
                group.addTask {
                    try await gateway.run(on: adapter, warning: { _ in }) { server in
                        for try await _ in server.centralEvents {}
                    }
                }
                let phone = try await Central.open(.radio(bench.air.adapter()))
                _ = try await phone.scan(for: .name("Gateway")).timeout(.seconds(20)).first()
                #expect(time.now > .seconds(10) && time.now < .seconds(15))
                group.cancelAll()
            }
        }
    }

    @Test func `while it has a link as central nobody finds it, and afterwards by itself`() async throws {
        try await Bench.run { bench in
            let phone = try await Central.open(.radio(bench.air.adapter()))
            bench.centralAdapter.settings.combinesRoles = false
            try await Self.gateway.run(on: bench.centralAdapter) { _ in
                _ = try await phone.scan(for: .name("Gateway")).timeout(.seconds(5)).first()
                try await bench.peripheral.withLink { _ in
                    let error = await bleError {
                        _ = try await phone.scan(for: .name("Gateway")).timeout(.seconds(20)).first()
                    }
                    #expect(error?.code == .timedOut)
                }
                _ = try await phone.scan(for: .name("Gateway")).timeout(.seconds(5)).first()
            }
        }
    }
}
