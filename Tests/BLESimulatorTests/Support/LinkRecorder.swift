import BLEProtocol
import BLERadio
import Synchronization

/// A receiver that writes down what it hears.
final class LinkRecorder: ATTLinkReceiver {
    enum Event: Hashable, Sendable {
        case received([[UInt8]])
        case dropped(Int)
        case writable
        case ended(DisconnectReason)
    }

    private let log = Mutex<[Event]>([])
    private let onEvent: @Sendable (Event) -> Void

    init(onEvent: @escaping @Sendable (Event) -> Void = { _ in }) { self.onEvent = onEvent }

    var events: [Event] { log.withLock { $0 } }

    /// All PDUs, in order, whatever the batches.
    var pdus: [[UInt8]] {
        events.flatMap { event -> [[UInt8]] in if case .received(let pdus) = event { pdus } else { [] } }
    }

    var end: DisconnectReason? {
        if case .ended(let reason) = events.last { reason } else { nil }
    }

    func linkReceived(_ pdus: ReceivedPDUs) { note(.received(pdus.map { Array($0.bytes) })) }
    func linkDropped(_ count: Int) { note(.dropped(count)) }
    func linkBecameWritable() { note(.writable) }
    func linkEnded(_ reason: DisconnectReason) { note(.ended(reason)) }

    private func note(_ event: Event) {
        log.withLock { $0.append(event) }
        onEvent(event)
    }
}
