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

    /// Those with a part.
    private let records = Mutex<[BluetoothAddress: Record]>([:])

    /// A link begins.
    func begin(_ link: any ATTLink) -> Record {
        records.withLock { records in
            if link.isResumed, let record = records[link.peer] { return record }
            records[link.peer] = nil
            return Record()
        }
    }

    /// A message was sent, or a part of it. What the sender of an earlier link says late doesn't concern the next one.
    func sent(part: Bool, at handle: UInt16, of peer: BluetoothAddress, in record: Record) {
        let isEmpty = record.handles.withLock { handles in
            if part { handles.insert(handle) } else { handles.remove(handle) }
            return handles.isEmpty
        }
        records.withLock { records in
            if !isEmpty { records[peer] = record } else if records[peer] === record { records[peer] = nil }
        }
    }
}
