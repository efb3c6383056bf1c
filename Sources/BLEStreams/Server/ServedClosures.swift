import BLEProtocol
import Synchronization

/// The closures that answer for the characteristics of a peripheral while it runs, by the characteristics' names.
///
/// A closure may keep the server that calls it, to notify what was written: kept any longer, each would keep the other
/// for ever, and the radio with its thread.
final class ServedClosures: Sendable {
    private struct State {
        var closures: [String: ValueClosures]
        /// Whether the peripheral has ended: nothing calls a closure any more.
        var isOver = false
    }

    private let state: Mutex<State>

    init(of services: [LocalService]) { state = Mutex(State(closures: services.closures)) }

    /// The closures that answer for a characteristic; `nil`: none.
    subscript(id: String) -> ValueClosures? { state.withLock { $0.closures[id] } }

    /// From now on, the closures of these services answer.
    func replace(with services: [LocalService]) {
        let new = services.closures
        let former = state.withLock { state in
            defer { if !state.isOver { state.closures = new } }
            return state.closures
        }
        // Released outside the lock: what they hold may be deallocated with them, and call back here.
        withExtendedLifetime(former) {}
    }

    /// The peripheral has ended.
    func release() {
        let former = state.withLock { state in
            defer { state = State(closures: [:], isOver: true) }
            return state.closures
        }
        withExtendedLifetime(former) {}
    }
}
