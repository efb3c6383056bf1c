package import BLEProtocol
package import BLERadio
import Synchronization

/// Notes what a link tells, and lets a test wait for it.
package final class LinkRecorder: ATTLinkReceiver {
    package enum Event: Equatable, Sendable {
        case received([UInt8])
        case dropped(Int)
        case writable
        case ended(DisconnectReason)
    }

    private let continuation: AsyncStream<Event>.Continuation
    private let batchSizes = Mutex<[Int]>([])
    private let receptionTimes = Mutex<[ReceptionTime]>([])
    private let endings = Mutex(0)
    private let early = Mutex<[[UInt8]]>([])
    private let stream: AsyncStream<Event>

    /// How many PDUs each call brought.
    package var batches: [Int] { batchSizes.withLock { $0 } }
    /// When the PDUs were received.
    package var times: [ReceptionTime] { receptionTimes.withLock { $0 } }

    /// How often it was told of the end.
    package var ends: Int { endings.withLock { $0 } }

    package init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The next thing that happened, or will.
    package func next() async -> Event? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next()
    }

    /// The next `count` things.
    package func next(_ count: Int) async -> [Event] {
        var events: [Event] = []
        while events.count < count, let event = await next() { events.append(event) }
        return events
    }

    /// The next PDUs, whatever else happens between them; fewer where the link ends before.
    package func pdus(_ count: Int) async -> [[UInt8]] {
        var pdus = early.withLock { early in
            defer { early = [] }
            return early
        }
        while pdus.count < count, let event = await next() {
            if case .received(let pdu) = event { pdus.append(pdu) }
        }
        return pdus
    }

    /// Waits until a send that was refused may be tried again; what is received meanwhile is kept for ``pdus(_:)``.
    package func room() async {
        while let event = await next() {
            switch event {
            case .writable, .ended: return
            case .received(let pdu): early.withLock { $0.append(pdu) }
            case .dropped: break
            }
        }
    }

    /// All PDUs until the link ends, and why it did.
    package func untilEnd() async -> (pdus: [[UInt8]], reason: DisconnectReason?) {
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

    package func linkReceived(_ pdus: ReceivedPDUs) {
        batchSizes.withLock { $0.append(pdus.count) }
        receptionTimes.withLock { $0 += pdus.map(\.time) }
        for pdu in pdus { continuation.yield(.received(Array(pdu.bytes))) }
    }

    package func linkDropped(_ count: Int) { continuation.yield(.dropped(count)) }
    package func linkBecameWritable() { continuation.yield(.writable) }

    package func linkEnded(_ reason: DisconnectReason) {
        endings.withLock { $0 += 1 }
        continuation.yield(.ended(reason))
        continuation.finish()
    }
}
