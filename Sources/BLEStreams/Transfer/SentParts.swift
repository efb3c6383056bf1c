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
        fileprivate let handles = Mutex<Set<UInt16>>([])

        func contains(_ handle: UInt16) -> Bool { handles.withLock { $0.contains(handle) } }
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
        let isEmpty = record.handles.withLock { handles in
            if part { handles.insert(handle) } else { handles.remove(handle) }
            return handles.isEmpty
        }
        entries.withLock { entries in
            if isEmpty { return entries.removeAll { $0.peer == peer && $0.record === record } }
            entries.removeAll { $0.peer == peer }
            if entries.count == Self.limit { entries.removeFirst() }
            entries.append(Entry(peer: peer, record: record))
        }
    }
}
