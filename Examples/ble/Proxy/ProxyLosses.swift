import BLEStreams
import Synchronization

/// The values that the kernel has dropped on a link while a client had subscriptions, and of which nobody can tell
/// whose they were.
///
/// Where that is known, the subscription's stream counts them too; the link counts all of them.
final class ProxyLosses: Sendable {
    private struct State {
        var subscriptions = 0
        /// What the link has dropped meanwhile and no stream has counted; while there are subscriptions, less what it
        /// had dropped before.
        var count = 0
    }

    private let link: Link
    private let state = Mutex(State())

    init(on link: Link) { self.link = link }

    /// A subscription begins.
    func subscribed() {
        let dropped = link.droppedPDUs
        state.withLock { state in
            if state.subscriptions == 0 { state.count -= dropped }
            state.subscriptions += 1
        }
    }

    /// A subscription is over.
    ///
    /// - Parameter counted: how many dropped values its stream has counted.
    func unsubscribed(having counted: Int) {
        let dropped = link.droppedPDUs
        state.withLock { state in
            state.subscriptions -= 1
            state.count -= counted
            if state.subscriptions == 0 { state.count += dropped }
        }
    }

    /// How many there are, once all subscriptions are over.
    var unassigned: Int { state.withLock { max(0, $0.count) } }
}
