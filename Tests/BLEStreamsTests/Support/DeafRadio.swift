import BLEProtocol
import BLERadio
import BLESimulator
import RadioDoubles

/// A simulated adapter on which this program may connect, but not scan.
struct DeafRadio: IdleRadio {
    let radio: SimulatedAdapter

    var timeline: any Timeline { radio.timeline }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        timeline.schedule(after: .zero) {
            events(.failed(BLEError(.permissionDenied, operation: "scan", object: "deaf", cause: "it is deaf")))
        }
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { radio.connect(to: peer, result: result) }
}
