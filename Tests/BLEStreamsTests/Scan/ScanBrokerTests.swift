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

        func tell(_ event: ScanEvent, scan: Int) {
            let events = scans.withLock { $0[scan].events }
            events(event)
        }

        func fail(scan: Int) {
            tell(.failed(BLEError(.adapterPoweredOff, operation: "scan", cause: "the test says so")), scan: scan)
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

    @Test func `a failure is told though its handling ends just as it comes`() {
        let radio = NotedRadio()
        let broker = ScanBroker(radio: radio)
        let (failures, questions) = (Recorder<BluetoothUUID?>(), Recorder<Bool>())
        broker.holdFailures { [weak broker] in
            questions.add(true)
            guard questions.all.count == 1 else { return false }
            // What another thread does between the answer and what follows from it.
            broker?.giveUp()
            return true
        }
        let leave = add([.battery], to: broker, failures)
        radio.fail(scan: 0)
        #expect(failures.all == [.battery])
        leave()
    }

    @Test func `a scan that ends while its watchers are told of its beginning has begun before it has ended`() {
        let radio = NotedRadio()
        let broker = ScanBroker(radio: radio)
        let (told, leaving) = (Recorder<String>(), Recorder<@Sendable () -> Void>())
        // What another thread does before the next watcher is told.
        let leave: @Sendable () -> Void = { for leave in leaving.all { leave() } }
        let watches = [
            broker.watch(ScanBroker.Watcher(started: leave, heard: { _ in }, stopped: {})),
            broker.watch(
                ScanBroker.Watcher(started: { told.add("begun") }, heard: { _ in }, stopped: { told.add("ended") })
            ),
        ]
        leaving.add(add([.battery], to: broker))
        radio.tell(.started, scan: 0)
        #expect(told.all == ["begun", "ended"])
        leaving.forget()
        for unwatch in watches { unwatch() }
    }

    /// A radio that, like an adapter, scans once at a time, and tells a test that it is about to begin or has ended.
    private final class SingleRadio: IdleRadio {
        private struct State {
            var isScanning = false
            var refused = 0
            var requests: [ScanRequest] = []
            var meanwhile: [@Sendable () -> Void] = []
        }
        private let state = Mutex(State())

        var refused: Int { state.withLock { $0.refused } }
        var isScanning: Bool { state.withLock { $0.isScanning } }
        var requests: [ScanRequest] { state.withLock { $0.requests } }

        /// What others do while the radio is told to begin or to end a scan, once each.
        func meanwhile(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.meanwhile.append(action) } }

        private func letOthers() {
            let action = state.withLock { $0.meanwhile.isEmpty ? nil : $0.meanwhile.removeFirst() }
            action?()
        }

        func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
            let isRefused = state.withLock { state in
                state.requests.append(request)
                if state.isScanning { state.refused += 1 }
                defer { state.isScanning = true }
                return state.isScanning
            }
            if isRefused { events(.failed(BLEError(.busy, operation: "scan", cause: "it scans already"))) }
            letOthers()
            return RadioActivity {
                self.letOthers()
                if !isRefused { self.state.withLock { $0.isScanning = false } }
            }
        }
    }

    /// What happens between a decision and its end happens on other threads: one begins a scan or leaves it while the
    /// radio is told what another wants.
    @Test func `whoever comes or leaves while the radio is told, it scans once at a time`() throws {
        let radio = SingleRadio()
        let broker = ScanBroker(radio: radio)
        let failures = Recorder<BluetoothUUID?>()
        let leaving = Mutex<[@Sendable () -> Void]>([])
        let add: @Sendable (BluetoothUUID) -> Void = { service in
            let leave = self.add([service], to: broker, failures)
            leaving.withLock { $0.append(leave) }
        }
        // While the first scan begins; while that is ended for the second; while the one for both begins.
        radio.meanwhile { add(.heartRate) }
        radio.meanwhile { add(.deviceInformation) }
        radio.meanwhile { add(.glucose) }
        add(.battery)
        #expect(radio.refused == 0 && failures.all.isEmpty)
        #expect(radio.requests.last.map { Set($0.services) } == [.battery, .heartRate, .deviceInformation, .glucose])
        // One leaves while the radio is told that another has left; a scan is restarted meanwhile.
        let all = leaving.withLock { $0 }
        try #require(all.count == 4)
        radio.meanwhile { all[1]() }
        radio.meanwhile {
            broker.suspend()
            broker.resume()
        }
        all[0]()
        #expect(radio.refused == 0 && radio.isScanning)
        #expect(radio.requests.last.map { Set($0.services) }?.count == 2)
        for leave in all { leave() }
        #expect(!radio.isScanning && failures.all.isEmpty)
    }

    @Test func `a restart while the radio is told to begin restarts the scan`() {
        let radio = SingleRadio()
        let broker = ScanBroker(radio: radio)
        radio.meanwhile {
            broker.suspend()
            broker.resume()
        }
        let leave = add([.battery], to: broker)
        #expect(radio.requests.count == 2 && radio.refused == 0 && radio.isScanning)
        broker.suspend()
        #expect(!radio.isScanning)
        broker.resume()
        #expect(radio.isScanning)
        leave()
        #expect(!radio.isScanning)
    }
}
