import BLEStreams
import Synchronization

/// How many connections all clients have together, and which.
final class ProxySlots: Sendable {
    private struct State {
        var used: [UInt64] = []
        var watchers: [Int: BLEStream<Void>.Feed] = [:]
        var nextWatcher = 0
    }

    /// How many there may be.
    let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Takes a place for a device; `false` where none is free.
    func take(_ address: UInt64) -> Bool {
        change { used in
            guard used.count < limit else { return false }
            used.append(address)
            return true
        }
    }

    /// Gives it back.
    func free(_ address: UInt64) {
        _ = change { used in
            guard let index = used.firstIndex(of: address) else { return false }
            used.remove(at: index)
            return true
        }
    }

    /// The devices that have one, now and after each change; it never ends.
    var changes: BLEStream<[UInt64]> {
        // What is told is that there is a change; what it is, is looked up by who takes it, so that it is the latest.
        let bells = BLEStream<Void>(buffer: .newest(1)) { feed in
            let number = self.state.withLock { state in
                state.nextWatcher += 1
                state.watchers[state.nextWatcher] = feed
                return state.nextWatcher
            }
            feed.send(())
            return { self.state.withLock { _ = $0.watchers.removeValue(forKey: number) } }
        }
        return bells.map { self.state.withLock(\.used) }
    }

    private func change(_ body: (inout [UInt64]) -> Bool) -> Bool {
        let (isChanged, watchers) = state.withLock { state in (body(&state.used), Array(state.watchers.values)) }
        if isChanged { for watcher in watchers { watcher.send(()) } }
        return isChanged
    }
}
