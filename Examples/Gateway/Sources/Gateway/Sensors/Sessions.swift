import BLEStreams
import Synchronization

/// The sessions of the peripherals that are followed, by label.
final class Sessions: Sendable {
    private let sessions = Mutex<[String: (session: Session, lease: Lease?)]>([:])

    /// The session of a peripheral that the gateway may act on at this moment.
    subscript(label: String) -> Session? {
        guard let entry = sessions.withLock({ $0[label] }), entry.lease?.isHeld ?? true else { return nil }
        return entry.session
    }

    /// Whether there is a session of a peripheral.
    func contains(_ label: String) -> Bool { sessions.withLock { $0[label] != nil } }

    /// Adds the session of a peripheral.
    func add(_ label: String, _ session: Session, _ lease: Lease?) {
        sessions.withLock { $0[label] = (session, lease) }
    }

    /// Removes the session of a peripheral.
    func remove(_ label: String) { sessions.withLock { $0[label] = nil } }

    /// The state of each, in words.
    var states: [(label: String, state: String)] {
        sessions.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value.session.state)") }
    }
}
