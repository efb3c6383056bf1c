import BLEProtocol
import BLERadio
import RadioDoubles
import Synchronization

@testable import BLELinux

/// A radio with one link, over one end of a socket pair: for a central that connects, or a peripheral that listens.
struct PairRadio: IdleRadio {
    let socket: Int32
    let loop: EventLoop

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        let link = loop.link(takingOver: socket, peer: peer, timeline: timeline)
        loop.enqueue { result(.success(link)) }
        return RadioActivity {}
    }

    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        let link = loop.link(takingOver: socket, peer: .example, timeline: timeline)
        loop.enqueue {
            events(.started)
            events(.accepted(link))
        }
        return RadioActivity {}
    }

    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        loop.enqueue { events(.started) }
        return RadioActivity {}
    }
}
