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
            /// The types of the characteristics with a part, where they are known, by their handles.
            var types: [UInt16: BluetoothUUID?] = [:]
            /// Whether the peripheral has nothing any more.
            var isOver = false
        }

        fileprivate let state = Mutex(State())

        /// The handles of the parts that a message for a characteristic may follow: at its own handle, and where
        /// another characteristic is now, or none. What was there has moved, perhaps to this handle, and the peripheral
        /// may put both together.
        ///
        /// - Parameter database: the peripheral's services; `nil` if they are not known.
        func parts(before handle: UInt16, in database: GATTDatabase?) -> [UInt16] {
            state.withLock { state in
                state.types.compactMap { place, type in
                    if place == handle { return place }
                    guard let database, let type else { return nil }
                    return database.characteristic(valueHandle: place)?.uuid == type ? nil : place
                }
            }
        }
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
    ///
    /// - Parameters:
    ///   - type: the type of its characteristic; `nil` if it is not known.
    ///   - former: the handles of earlier parts, which it has ended.
    func sent(
        part: Bool,
        at handle: UInt16,
        _ type: BluetoothUUID? = nil,
        after former: [UInt16] = [],
        of peer: BluetoothAddress,
        in record: Record
    ) {
        entries.withLock { entries in
            let isEmpty = record.state.withLock { state in
                for handle in former { state.types.removeValue(forKey: handle) }
                if part, !state.isOver {
                    state.types.updateValue(type, forKey: handle)
                } else {
                    state.types.removeValue(forKey: handle)
                }
                return state.types.isEmpty
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
