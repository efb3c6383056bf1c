import BLEProtocol
import BLERadio
import Synchronization

/// The centrals that are behind with their notifications, and the watchers.
///
/// A central's queue numbers its changes: two of them may arrive here in any order, on any thread, and are reported in
/// the order of their numbers.
final class BacklogBoard: Sendable {
    private struct State {
        var behind: [Int: PeripheralServer.CentralBacklog] = [:]
        var watchers = Observers<Mailbox<PeripheralServer.CentralBacklog>>()
        /// How the server ended.
        var end: Result<Void, BLEError>?
    }

    private let state = Mutex(State())
    private let announcements = Announcements()

    /// Records the notification counts of a central.
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
                let watchers = state.watchers.all
                if !watchers.isEmpty { announcements.add { for watcher in watchers { watcher.send(news) } } }
            }
        }
        announcements.make()
    }

    func finish(_ error: BLEError?) {
        state.withLock { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            state.behind = [:]
            let watchers = state.watchers.removeAll()
            announcements.add { for watcher in watchers { watcher.finish(throwing: error) } }
        }
        announcements.make()
    }

    /// Puts the centrals that are behind now into the mailbox immediately, then each change, until the returned closure
    /// is called.
    func watch(_ mailbox: Mailbox<PeripheralServer.CentralBacklog>) -> @Sendable () -> Void {
        let id: Int? = state.withLock { state in
            let (behind, end) = (state.behind.sorted { $0.key < $1.key }.map(\.value), state.end)
            announcements.add {
                mailbox.send(contentsOf: behind)
                if let end { mailbox.finish(end) }
            }
            return end == nil ? state.watchers.add(mailbox) : nil
        }
        announcements.make()
        return { if let id { _ = self.state.withLock { $0.watchers.remove(id) } } }
    }
}
