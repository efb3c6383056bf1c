import BLEProtocol
import BLERadio
import Synchronization

/// The peripherals that have only a part of the last message for a characteristic.
///
/// It outlives a link: without the capability to end it, Linux holds one for two seconds, and the next attempt takes it
/// over with what the peripheral has by then. A new link begins with nothing.
final class SentParts: Sendable {
    /// What was sent on a link, and on those that took it over.
    final class Record: Sendable {
        fileprivate struct State {
            var handles: Set<UInt16> = []
            /// Whether the peripheral has nothing any more.
            var isOver = false
        }

        fileprivate let state = Mutex(State())

        func contains(_ handle: UInt16) -> Bool { state.withLock { $0.handles.contains(handle) } }
    }

    private struct Entry: Sendable {
        let peer: BluetoothAddress
        let record: Record
    }

    /// How many peripherals are remembered: only a link that comes within seconds takes one over, and peripherals that
    /// change their addresses must not make it grow for months.
    static let limit = 64

    /// Those with a part, the one that got the last part last.
    private let entries = Mutex<[Entry]>([])

    /// A link begins.
    func begin(_ link: any ATTLink) -> Record {
        let (peer, isResumed) = (link.peer, link.isResumed)
        return entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.peer == peer }) else { return Record() }
            if isResumed { return entries[index].record }
            entries.remove(at: index)
            return Record()
        }
    }

    /// A message was sent, or a part of it. What the sender of an earlier link says late doesn't concern the next one.
    func sent(part: Bool, at handle: UInt16, of peer: BluetoothAddress, in record: Record) {
        entries.withLock { entries in
            let isEmpty = record.state.withLock { state in
                if part, !state.isOver { state.handles.insert(handle) } else { state.handles.remove(handle) }
                return state.handles.isEmpty
            }
            if isEmpty { return entries.removeAll { $0.peer == peer && $0.record === record } }
            entries.removeAll { $0.peer == peer }
            if entries.count == Self.limit { entries.removeFirst() }
            entries.append(Entry(peer: peer, record: record))
        }
    }

    /// A link has ended. If it is down for both sides, the peripheral has nothing any more: a later link that is taken
    /// over, since another program has made it, is not the one with the part.
    func ended(_ reason: DisconnectReason, _ record: Record) {
        guard reason.isOfBothSides else { return }
        entries.withLock { entries in
            record.state.withLock { $0 = Record.State(isOver: true) }
            entries.removeAll { $0.record === record }
        }
    }
}

extension DisconnectReason {
    /// Whether no side has the link any more. One that this side has given up may still be held by the kernel.
    fileprivate var isOfBothSides: Bool {
        switch kind {
        case .closedByPeer, .supervisionTimeout, .failedToEstablish, .adapterOff: true
        case .closedLocally, .authenticationFailed, .keyMissing, .transactionTimeout, .protocolViolation, .other: false
        }
    }
}
