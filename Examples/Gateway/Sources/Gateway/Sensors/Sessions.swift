import BLEStreams
import Synchronization

/// The sessions of the peripherals that are followed, by label.
final class Sessions: Sendable {
    private let sessions = Mutex<[String: Session]>([:])

    subscript(label: String) -> Session? {
        get { sessions.withLock { $0[label] } }
        set { sessions.withLock { $0[label] = newValue } }
    }

    /// The state of each, in words.
    var states: [(label: String, state: String)] {
        sessions.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value.state)") }
    }
}
