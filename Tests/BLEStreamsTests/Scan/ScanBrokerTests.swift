import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// Consumers come and go, and the radio's scan follows them.
@Suite struct ScanBrokerTests {
    /// A radio that notes what it is to scan for, and fails when a test says so.
    private final class NotedRadio: IdleRadio {
        typealias Events = @Sendable (ScanEvent) -> Void

        private let scans = Mutex<[(services: [BluetoothUUID], events: Events)]>([])

        /// The services of each scan that was begun.
        var services: [[BluetoothUUID]] { scans.withLock { $0.map(\.services) } }

        func fail(scan: Int) {
            let events = scans.withLock { $0[scan].events }
            events(.failed(BLEError(.adapterPoweredOff, operation: "scan", cause: "the test says so")))
        }

        func scan(_ request: ScanRequest, events: @escaping Events) -> RadioActivity {
            scans.withLock { $0.append((request.services, events)) }
            return RadioActivity {}
        }
    }

    private func add(
        _ services: [BluetoothUUID],
        to broker: ScanBroker,
        _ failures: Recorder<BluetoothUUID?> = Recorder()
    ) -> @Sendable () -> Void {
        broker.add(
            ScanBroker.Options(services: services, isActive: false, reportsDuplicates: false),
            take: { _ in },
            lost: { _ in },
            fail: { _ in failures.add(services.first) }
        )
    }

    @Test func `the radio looks for what its consumers look for, whoever comes or leaves`() {
        let radio = NotedRadio()
        let broker = ScanBroker(radio: radio)
        let first = add([.battery], to: broker)
        let second = add([.heartRate], to: broker)
        #expect(radio.services == [[.battery], [.heartRate, .battery]])
        let third = add([.battery], to: broker)
        #expect(radio.services.count == 2, "that is looked for already")
        second()
        #expect(radio.services.last == [.battery] && radio.services.count == 3)
        first()
        third()
        #expect(radio.services.count == 3)
    }

    @Test func `the failure of a scan that another has replaced is nobody's`() {
        let radio = NotedRadio()
        let broker = ScanBroker(radio: radio)
        let failures = Recorder<BluetoothUUID?>()
        let leaving = [add([.battery], to: broker, failures), add([.heartRate], to: broker, failures)]
        radio.fail(scan: 0)
        #expect(failures.all.isEmpty)
        radio.fail(scan: 1)
        #expect(failures.all == [.battery, .heartRate])
        for leave in leaving { leave() }
    }
}
