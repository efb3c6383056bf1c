import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Testing

/// A silent scan beside links that its central has not made: a step that ends links waits for them as for its own.
@Suite(.timeLimit(.minutes(10))) struct SparedLinksTests {
    private static let plan = RecoveryPlan(
        steps: [.restartScan, .powerCycle],
        silence: .seconds(10),
        patience: .seconds(5),
        rest: .seconds(60)
    )

    /// Without links, the adapter would be switched off next.
    private static let spared = ["the adapter hears nothing for 10.0 seconds", "step 1: the scan begins again"]

    /// Runs a body beside a scan for everything, and the troubles that are told meanwhile.
    private func scanning(
        _ body: @escaping @Sendable (Bench, Recorder<String>) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            let central = try await Central.open(.radio(bench.centralAdapter), recovery: Self.plan)
            try await central.whileScanning(bench.time) { troubles in try await body(bench, troubles) }
        }
    }

    @Test func `the link of a central that is connected to this program's own server is spared`() async throws {
        try await scanning { bench, troubles in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await LocalPeripheral(name: "Beside") {}.run(on: bench.centralAdapter) }
                try await bench.time.sleep(for: .seconds(1))
                let visitor = try await Central.open(.radio(bench.air.adapter()))
                try await visitor.peripheral(bench.centralAdapter.address).withLink { _ in
                    bench.peripheralAdapter.unplug()
                    try await bench.time.sleep(for: .seconds(100))
                    #expect(bench.centralAdapter.activity.links.count == 1)
                    #expect(troubles.all == Self.spared)
                }
                group.cancelAll()
            }
        }
    }

    @Test func `the link of another central on the same adapter is spared`() async throws {
        try await scanning { bench, troubles in
            try await bench.peripheral.withLink { link in
                try await bench.time.sleep(for: .seconds(100))
                try await link.expect(Bench.readOnly, reads: [7])
                #expect(troubles.all == Self.spared)
            }
        }
    }

    /// An adapter that has another program's link, and whose scans receive what a test says.
    private final class LinkedRadio: IdleRadio {
        let timeline: any Timeline
        let isLinked = true
        private let scans = Recorder<@Sendable (ScanEvent) -> Void>()

        init(_ timeline: any Timeline) { self.timeline = timeline }

        /// How many scans were begun.
        var count: Int { scans.all.count }

        /// Tells the last scan.
        func tell(_ event: ScanEvent) { scans.all.last?(event) }

        func hear() {
            let peer = BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random)
            let data = AdvertisingData(bytes: [2, 1, 6])
            let time = timeline.wallTime
            let report = AdvertisingReport(address: peer, rssi: -50, isConnectable: true, data: data, time: time)
            tell(.reports([report]))
        }

        func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
            scans.add(events)
            return timeline.schedule(after: .zero) { events(.started) }
        }
    }

    @Test func `a scan that fails after its restart goes on while links are spared`() async throws {
        try await VirtualTime.run(seed: 1) { time in
            let radio = LinkedRadio(time)
            let central = try await Central.open(.radio(radio), recovery: Self.plan)
            try await central.whileScanning(time) { troubles in
                radio.hear()
                try await time.sleep(for: .seconds(22))
                #expect(troubles.all == Self.spared && radio.count == 2)
                radio.tell(.failed(BLEError(.timedOut, operation: "scan", cause: "the test says so")))
                try await time.sleep(for: .seconds(1))
                #expect(radio.count == 2, "whether the restart has helped is awaited")
                try await time.sleep(for: .seconds(5))
                #expect(radio.count == 3)
                radio.hear()
                try await time.sleep(for: .seconds(1))
                #expect(troubles.all.last == "the adapter works again after 1 step")
            }
        }
    }

    @Test func `where none is left the adapter is switched off and on all the same`() async throws {
        try await scanning { bench, troubles in
            try await bench.peripheral.withLink { _ in
                bench.centralAdapter.goDeaf(untilPowerCycle: true)
                try await bench.time.sleep(for: .seconds(60))
                #expect(troubles.all == Self.spared)
            }
            try await bench.time.sleep(for: .seconds(30))
            #expect(troubles.all.last == "the adapter works again after 2 steps")
        }
    }
}
