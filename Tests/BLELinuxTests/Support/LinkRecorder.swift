import BLEProtocol
import BLERadio
import Synchronization

/// Notes what a link tells, and lets a test wait for it.
final class LinkRecorder: ATTLinkReceiver {
    enum Event: Equatable {
        case received([UInt8])
        case dropped(Int)
        case writable
        case ended(DisconnectReason)
    }

    private let continuation: AsyncStream<Event>.Continuation
    private let batchSizes = Mutex<[Int]>([])
    private let receptionTimes = Mutex<[ReceptionTime]>([])
    private let stream: AsyncStream<Event>

    /// How many PDUs each call brought.
    var batches: [Int] { batchSizes.withLock { $0 } }
    /// When the PDUs were received.
    var times: [ReceptionTime] { receptionTimes.withLock { $0 } }

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The next thing that happened, or will.
    func next() async -> Event? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }

    /// The next `count` things.
    func next(_ count: Int) async -> [Event] {
        var events: [Event] = []
        while events.count < count, let event = await next() { events.append(event) }
        return events
    }

    /// All PDUs until the link ends, and why it did.
    func untilEnd() async -> (pdus: [[UInt8]], reason: DisconnectReason?) {
        var pdus: [[UInt8]] = []
        while let event = await next() {
            switch event {
            case .received(let pdu): pdus.append(pdu)
            case .ended(let reason): return (pdus, reason)
            case .dropped, .writable: break
            }
        }
        return (pdus, nil)
    }

    func linkReceived(_ pdus: ReceivedPDUs) {
        batchSizes.withLock { $0.append(pdus.count) }
        receptionTimes.withLock { $0 += pdus.map(\.time) }
        for pdu in pdus { continuation.yield(.received(Array(pdu.bytes))) }
    }

    func linkDropped(_ count: Int) { continuation.yield(.dropped(count)) }
    func linkBecameWritable() { continuation.yield(.writable) }

    func linkEnded(_ reason: DisconnectReason) {
        continuation.yield(.ended(reason))
        continuation.finish()
    }
}
