import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Testing

/// An attempt to connect that is listened beside, on an adapter that others switch off and on at once.
@Suite(.timeLimit(.minutes(10))) struct BriefPowerOffTests {
    private static let plan = RecoveryPlan(steps: [], silence: .seconds(10))

    /// An adapter on which nobody advertises, and whose scans fail when a test says so.
    private final class SilentRadio: IdleRadio {
        let timeline: any Timeline
        private let scans = Recorder<@Sendable (ScanEvent) -> Void>()
        private let watchers = Recorder<@Sendable (AdapterInfo) -> Void>()

        init(_ timeline: any Timeline) { self.timeline = timeline }

        /// How many scans were begun.
        var count: Int { scans.all.count }

        /// Tells of a state; the adapter is on by the time it is asked.
        func tell(_ state: AdapterInfo.State) {
            for watcher in watchers.all { watcher(AdapterInfo(name: name, address: nil, state: state)) }
        }

        /// Fails the last scan.
        func fail(_ code: BLEError.Code) {
            scans.all.last?(.failed(BLEError(code, operation: "scan", cause: "the test says so")))
        }

        func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
            watchers.add(events)
            events(adapterInfo)
            return RadioActivity {}
        }

        func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
            scans.add(events)
            return timeline.schedule(after: .zero) { events(.started) }
        }
    }

    /// Runs a body beside an attempt that waits in vain, once it is listened beside.
    private func connecting(
        _ body: @escaping @Sendable (VirtualTime, SilentRadio) async throws -> Void
    ) async throws {
        try await VirtualTime.run(seed: 1) { time in
            let radio = SilentRadio(time)
            let central = try await Central.open(.radio(radio), recovery: Self.plan)
            let absent = central.peripheral(BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await absent.withLink(timeout: .seconds(600)) { _ in } }
                try await time.sleep(for: .seconds(15))
                #expect(radio.count == 1)
                try await body(time, radio)
                group.cancelAll()
            }
        }
    }

    @Test(arguments: [true, false])
    func `the attempt is listened beside again, also if that it is on is told before the scan fails`(
        _ isToldBefore: Bool
    ) async throws {
        try await connecting { time, radio in
            radio.tell(.poweredOff)
            if isToldBefore { radio.tell(.poweredOn) }
            radio.fail(.adapterPoweredOff)
            if !isToldBefore { radio.tell(.poweredOn) }
            #expect(radio.count == 1)
            try await time.sleep(for: .seconds(15))
            #expect(radio.count == 2)
        }
    }

    @Test func `a program that may not scan is not asked to try again`() async throws {
        try await connecting { time, radio in
            radio.fail(.permissionDenied)
            try await time.sleep(for: .seconds(100))
            #expect(radio.count == 1)
        }
    }
}
