import BLEStreams
import Synchronization

/// The sessions of the peripherals that are followed, by label.
///
/// A label has several where gateways share a peripheral that is given by its name: several devices may have that name,
/// each with a lease of its own.
final class Sessions: Sendable {
    private typealias Entry = (session: Session, lease: Lease?)

    private let sessions = Mutex<[String: [Entry]]>([:])

    /// The session of a peripheral that the gateway may act on at this moment; of several, the one that was added
    /// first.
    subscript(label: String) -> Session? {
        // Outside the lock, since a lease asks others.
        let entries = sessions.withLock { $0[label] } ?? []
        return entries.first { $0.lease?.isHeld ?? true }?.session
    }

    /// Whether there is a session of a peripheral.
    func contains(_ label: String) -> Bool { sessions.withLock { $0[label] != nil } }

    /// Adds the session of a peripheral.
    func add(_ label: String, _ session: Session, _ lease: Lease?) {
        sessions.withLock { $0[label, default: []].append((session, lease)) }
    }

    /// Removes the session of a peripheral, and no other one of its label.
    func remove(_ label: String, _ session: Session) {
        sessions.withLock { sessions in
            let rest = (sessions[label] ?? []).filter { $0.session !== session }
            sessions[label] = rest.isEmpty ? nil : rest
        }
    }

    /// The state of each, in words; the label of those that share one is followed by the address.
    var states: [(label: String, state: String)] {
        sessions.withLock { $0 }.sorted { $0.key < $1.key }.flatMap { label, entries in
            let states = entries.map { entry -> (label: String, state: String) in
                let address = entry.lease?.tenure.address ?? entry.session.peripheral?.address
                let name = entries.count > 1 ? address.map { "\(label) \($0)" } ?? label : label
                return (name, entry.session.state.words)
            }
            return states.sorted { $0.label < $1.label }
        }
    }
}
