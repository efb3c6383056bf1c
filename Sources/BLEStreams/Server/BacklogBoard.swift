import BLEProtocol
import BLERadio
import Synchronization

/// The centrals that are behind with their notifications, and the watchers of that.
///
/// A central's queue numbers its changes: two of them may arrive here in any order, on any thread, and are reported in
/// their own order.
final class BacklogBoard: Sendable {
    private struct State {
        var behind: [Int: PeripheralServer.CentralBacklog] = [:]
        var watchers = Observers<Mailbox<PeripheralServer.CentralBacklog>>()
        /// What all has ended with.
        var end: Result<Void, BLEError>?
    }

    private let state = Mutex(State())

    /// Takes note of what has become of a central's notifications.
    func note(_ central: ConnectedCentral, _ counts: ATTServer.NotificationCounts) {
        state.withLock { state in
            let told = central.state.withLock { told in
                defer { told.toldChanges = max(told.toldChanges, counts.changes) }
                return told.toldChanges
            }
            guard told < counts.changes, state.end == nil else { return }
            let counters = PeripheralServer.NotificationCounters(counts)
            for change in (told + 1)...counts.changes {
                let news = PeripheralServer.CentralBacklog(
                    central: central,
                    isBehind: !change.isMultiple(of: 2),
                    counters: counters
                )
                state.behind[central.id] = news.isBehind ? news : nil
                // Under the lock, so that all watchers see one order.
                for watcher in state.watchers.all { watcher.send(news) }
            }
        }
    }

    func finish(_ error: BLEError?) {
        let watchers = state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            state.behind = [:]
            return state.watchers.removeAll()
        }
        for watcher in watchers { watcher.finish(throwing: error) }
    }

    /// Those who are behind now go into the mailbox at once, then each change, until what is returned is called.
    func watch(_ mailbox: Mailbox<PeripheralServer.CentralBacklog>) -> @Sendable () -> Void {
        let (id, end) = state.withLock { state in
            for news in state.behind.sorted(by: { $0.key < $1.key }) { mailbox.send(news.value) }
            return state.end.map { (nil, $0) } ?? (state.watchers.add(mailbox), nil)
        }
        if case .failure(let error)? = end { mailbox.finish(throwing: error) }
        if case .success? = end { mailbox.finish() }
        return { if let id { _ = self.state.withLock { $0.watchers.remove(id) } } }
    }
}
