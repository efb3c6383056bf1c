import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Synchronization

/// A simulated adapter whose answers and events are counted, and whose links are followed to their end.
final class SteppingRadio: IdleRadio {
    private struct Followed {
        weak var link: (any ATTLink)?
    }

    private let adapter: SimulatedAdapter
    private let counter: StepCounter
    private let links = Mutex<[Followed]>([])

    init(_ adapter: SimulatedAdapter, _ counter: StepCounter) {
        self.adapter = adapter
        self.counter = counter
    }

    /// How many of the links that it has made are still held by anybody.
    var heldLinks: Int { links.withLock { $0.count { $0.link != nil } } }

    var activity: AdapterActivity { adapter.activity }

    private func step(_ name: String) { counter.count(.event(name)) }

    var timeline: any Timeline { adapter.timeline }
    var adapterInfo: AdapterInfo { adapter.adapterInfo }
    var connectObstacle: BLEError? { adapter.connectObstacle }

    func hasLink(to peer: BluetoothAddress) -> Bool { adapter.hasLink(to: peer) }
    func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity { adapter.settle(done) }

    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        adapter.observeAdapter(events)
    }

    func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        adapter.observeSymptoms(events)
    }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        step("scan")
        return adapter.scan(request) { [self] event in
            if case .reports = event { step("reports") }
            events(event)
        }
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { connect(to: peer, parameters: nil, result: result) }

    func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        step("connect")
        return adapter.connect(to: peer, parameters: parameters) { [self] outcome in
            step("connected")
            if case .success(let link) = outcome { links.withLock { $0.append(Followed(link: link)) } }
            result(outcome)
        }
    }

    func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        step("pair")
        return adapter.pair(with: peer, asking: interview) { [self] outcome in
            step("paired")
            result(outcome)
        }
    }

    func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
        adapter.expectPairing(with: peer, as: capability)
    }

    func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        step("restore")
        return adapter.restore(bonds) { [self] outcome in
            step("restored")
            result(outcome)
        }
    }

    func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        adapter.unpair(peer, result: result)
    }
}
