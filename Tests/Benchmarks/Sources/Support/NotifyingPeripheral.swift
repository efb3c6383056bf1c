import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization

/// The least that a peripheral can be, on a simulated adapter: one service whose one characteristic notifies.
final class NotifyingPeripheral: ATTLinkReceiver {
    private struct State {
        var link: (any ATTLink)?
        var left: Int
        var isBegun = false
        var activities: [RadioActivity] = []
        var timer: RadioActivity?
    }

    let adapter: SimulatedAdapter
    private let state: Mutex<State>

    /// Listens and advertises; sends `count` values of 20 octets from `begin` on, as fast as the link takes them.
    init(on adapter: SimulatedAdapter, time: VirtualTime, count: Int, begin: Duration) {
        self.adapter = adapter
        state = Mutex(State(left: count))
        let listening = adapter.listen { [weak self] event in
            if case .accepted(let link) = event { self?.accept(link) }
        }
        let advertising = adapter.advertise(AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))) { _ in }
        let timer = time.schedule(after: begin - time.now) { [weak self] in
            self?.state.withLock { $0.isBegun = true }
            self?.notify()
        }
        state.withLock { state in
            state.activities = [listening, advertising]
            state.timer = timer
        }
    }

    private func accept(_ link: any ATTLink) {
        state.withLock { $0.link = link }
        link.start(self)
    }

    private static let notification = [0x1B, 3, 0] + [UInt8](repeating: 7, count: 20)

    private func notify() {
        guard let link = state.withLock({ $0.isBegun ? $0.link : nil }) else { return }
        while state.withLock({ $0.left > 0 }), link.send(Self.notification) == .sent {
            state.withLock { $0.left -= 1 }
        }
    }

    func linkReceived(_ pdus: ReceivedPDUs) {
        guard let link = state.withLock({ $0.link }) else { return }
        for pdu in pdus {
            if let answer = Self.answer(to: Array(pdu.bytes)) { _ = link.send(answer) }
        }
    }

    func linkDropped(_ count: Int) {}

    func linkBecameWritable() { notify() }

    func linkEnded(_ reason: DisconnectReason) { state.withLock { $0.link = nil } }

    static func answer(to request: [UInt8]) -> [UInt8]? {
        let start = request.count > 2 ? Int(request[1]) | Int(request[2]) << 8 : 0
        let type = request.count > 6 ? Int(request[5]) | Int(request[6]) << 8 : 0
        switch request[0] {
        case 0x02: return [0x03, 0x05, 0x02]
        case 0x04 where start <= 4: return [0x05, 1, 4, 0, 0x02, 0x29]
        case 0x08 where type == 0x2803 && start <= 2: return [0x09, 7, 2, 0, 0x10, 3, 0, 0x01, 0xA0]
        case 0x10 where type == 0x2800 && start <= 1: return [0x11, 6, 1, 0, 4, 0, 0x00, 0xA0]
        case 0x0A: return [0x0B, 1, 2, 3, 4]
        case 0x12: return [0x13]
        case 0x1E, 0x52: return nil
        default: return [0x01, request[0], request[1], request.count > 2 ? request[2] : 0, 0x0A]
        }
    }
}
