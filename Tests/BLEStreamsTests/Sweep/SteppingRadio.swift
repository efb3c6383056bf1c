import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles
import Synchronization

/// A simulated adapter whose answers and events are counted, and whose links are followed to their end.
final class SteppingRadio: RelayingRadio {
    private struct Followed {
        weak var link: (any ATTLink)?
    }

    let radio: SimulatedAdapter
    private let counter: StepCounter
    private let links = Mutex<[Followed]>([])

    init(_ adapter: SimulatedAdapter, _ counter: StepCounter) {
        radio = adapter
        self.counter = counter
    }

    /// How many of the links that it has made are still held by anybody.
    var heldLinks: Int { links.withLock { $0.count { $0.link != nil } } }

    var activity: AdapterActivity { radio.activity }

    private func step(_ name: String) { counter.count(.event(name)) }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        step("scan")
        return radio.scan(request) { [self] event in
            if case .reports = event { step("reports") }
            events(event)
        }
    }

    func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        step("connect")
        return radio.connect(to: peer, parameters: parameters) { [self] outcome in
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
        return radio.pair(with: peer, asking: interview) { [self] outcome in
            step("paired")
            result(outcome)
        }
    }

    func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        step("restore")
        return radio.restore(bonds) { [self] outcome in
            step("restored")
            result(outcome)
        }
    }
}
