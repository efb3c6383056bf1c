import BLELinux
import BLEProtocol
import BLERadio

/// A radio whose one peer is the other end of a socket pair: the production code above and below the seam, without
/// a controller.
struct SocketPairRadio: Radio {
    let end: Int32
    let loop: EventLoop

    var timeline: any Timeline { RealTimeline() }
    var executor: (any TaskExecutor)? { loop }

    static let peer = BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random)

    let adapterInfo = AdapterInfo(name: "pair", address: nil, state: .poweredOn)

    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        events(adapterInfo)
        return RadioActivity {}
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let link = loop.link(takingOver: end, peer: peer, timeline: timeline)
        loop.enqueue { result(.success(link)) }
        return RadioActivity {}
    }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        refuse("scan") { events(.failed($0)) }
    }

    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        refuse("listen") { events(.failed($0)) }
    }

    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        refuse("advertise") { events(.failed($0)) }
    }

    private func refuse(_ operation: String, _ fail: @escaping @Sendable (BLEError) -> Void) -> RadioActivity {
        loop.enqueue {
            fail(BLEError(.notSupported, operation: operation, cause: "a socket pair has no air"))
        }
        return RadioActivity {}
    }
}
