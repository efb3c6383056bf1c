import BLEStreams
import Synchronization

/// The connection slots of all clients together, and the devices that use them.
final class ProxySlots: Sendable {
    private struct State {
        /// In the order of connecting, with the number of clients of each.
        var used: [(device: UInt64, clients: Int)] = []
        var watchers: [Int: BLEStream<Void>.Feed] = [:]
        var nextWatcher = 0
    }

    /// The number of slots.
    let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Takes a slot for a device, or shares the one that it has: clients share its link. `false` if none is free.
    func take(_ address: UInt64) -> Bool {
        let (isTaken, watchers) = state.withLock { state -> (Bool, [BLEStream<Void>.Feed]) in
            if let index = state.used.firstIndex(where: { $0.device == address }) {
                state.used[index].clients += 1
                return (true, [])
            }
            guard state.used.count < limit else { return (false, []) }
            state.used.append((address, 1))
            return (true, Array(state.watchers.values))
        }
        for watcher in watchers { watcher.send(()) }
        return isTaken
    }

    /// Gives a client's share back; the slot is free once the last client has done so.
    func free(_ address: UInt64) {
        let watchers = state.withLock { state -> [BLEStream<Void>.Feed] in
            guard let index = state.used.firstIndex(where: { $0.device == address }) else { return [] }
            state.used[index].clients -= 1
            guard state.used[index].clients == 0 else { return [] }
            state.used.remove(at: index)
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.send(()) }
    }

    /// The devices that have a slot, now and after each change; it never ends.
    var changes: BLEStream<[UInt64]> {
        // The stream only signals a change; whoever receives it looks up the state, and so gets the latest.
        let bells = BLEStream<Void>(buffer: .newest(1)) { feed in
            let number = self.state.withLock { state in
                state.nextWatcher += 1
                state.watchers[state.nextWatcher] = feed
                return state.nextWatcher
            }
            feed.send(())
            return { self.state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
        }
        return bells.map { self.state.withLock { $0.used.map(\.device) } }
    }
}
