import BLELinux
import BLEProtocol
import BLERadio
import RadioDoubles

/// A radio whose one peer is the other end of a socket pair: the production code above and below the seam, without
/// a controller.
struct SocketPairRadio: IdleRadio {
    let end: Int32
    let loop: EventLoop
    var timeline: any Timeline = RealTimeline()

    var executor: (any TaskExecutor)? { loop }

    static let peer = BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random)

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let link = loop.link(takingOver: end, peer: peer, timeline: timeline)
        loop.enqueue { result(.success(link)) }
        return RadioActivity {}
    }
}
