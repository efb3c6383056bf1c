import BLEProtocol
import BLERadio
import Synchronization

/// The connection states of all peripherals of a central, and their watchers.
///
/// An entry exists only while the peripheral isn't idle or is being watched. A peripheral with changing private
/// addresses may have one for each address by which the program names it; all of them get its transitions.
final class ConnectionBoard: Sendable {
    private struct Entry {
        let address: BluetoothAddress
        var state = Peripheral.ConnectionState.disconnected(nil)
        var watchers = Observers<Mailbox<Peripheral.ConnectionState>>()
        var waitingForDown: [@Sendable () -> Void] = []

        var isDown: Bool { if case .disconnected = state { true } else { false } }
        var isIdle: Bool { isDown && watchers.isEmpty }
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var waitingForQuiet: [@Sendable () -> Void] = []

        var isQuiet: Bool { entries.values.allSatisfy(\.isDown) }
    }

    private let identities: KnownIdentities
    private let state = Mutex(State())
    private let news = Announcements()

    init(_ identities: KnownIdentities) { self.identities = identities }

    /// Whether all peripherals are idle and unwatched.
    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    func current(_ address: BluetoothAddress) -> Peripheral.ConnectionState {
        state.withLock { current(address, $0) }
    }

    /// Entries that were made before a bond has revealed that they are of one peripheral may differ: the one with the
    /// link counts, then one with an attempt.
    private func current(_ address: BluetoothAddress, _ state: State) -> Peripheral.ConnectionState {
        let entries = keys(of: address, state).compactMap { state.entries[$0] }
        let furthest = entries.max { $0.state.sinceDisconnected.count < $1.state.sinceDisconnected.count }
        let known = furthest?.isDown == false ? furthest : state.entries[address.rawValue] ?? furthest
        return known?.state ?? .disconnected(nil)
    }

    /// The entries of a peripheral, whichever of its addresses they were made for.
    private func keys(of address: BluetoothAddress, _ state: State) -> [UInt64] {
        guard identities.mayHaveOthers(address) else {
            return state.entries[address.rawValue] == nil ? [] : [address.rawValue]
        }
        return state.entries.values.lazy.map(\.address).filter { self.identities.areOfOne($0, address) }.map(\.rawValue)
    }

    /// Records a transition and tells every watcher; none is merged away.
    ///
    /// - Parameter isOver: whether the link that this is about has ended, so that nothing else follows its end; asked
    ///   under the lock, which that end's transition needs, too.
    func set(
        _ new: Peripheral.ConnectionState,
        of address: BluetoothAddress,
        unless isOver: () -> Bool = { false }
    ) {
        let waiting = state.withLock { state in
            var waiting: [@Sendable () -> Void] = []
            if isOver() { return waiting }
            let keys = keys(of: address, state)
            for key in keys.isEmpty ? [address.rawValue] : keys {
                var entry = state.entries[key] ?? Entry(address: address)
                entry.state = new
                let watchers = entry.watchers.all
                if !watchers.isEmpty { news.add { for watcher in watchers { watcher.send(new) } } }
                if case .disconnected = new {
                    waiting += entry.waitingForDown
                    entry.waitingForDown = []
                }
                state.entries[key] = entry.isIdle ? nil : entry
            }
            if !state.waitingForQuiet.isEmpty, state.isQuiet {
                waiting += state.waitingForQuiet
                state.waitingForQuiet = []
            }
            return waiting
        }
        news.make()
        for action in waiting { action() }
    }

    /// A bond has revealed the identity behind private addresses: a link that was made by one of them is told now to
    /// those who watch the peripheral, or try to connect to it, under another address of its own, with the transitions
    /// that they have missed.
    func revealed(_ identity: BluetoothAddress) {
        state.withLock { state in
            let now = current(identity, state)
            for key in keys(of: identity, state) {
                guard let entry = state.entries[key] else { continue }
                let missed = now.sinceDisconnected.dropFirst(entry.state.sinceDisconnected.count)
                if missed.isEmpty { continue }
                state.entries[key]?.state = now
                let watchers = entry.watchers.all
                if watchers.isEmpty { continue }
                news.add { for watcher in watchers { for one in missed { watcher.send(one) } } }
            }
        }
        news.make()
    }

    /// Calls the closure once no link to the peripheral is being closed; immediately if none is.
    func whenDown(_ address: BluetoothAddress, _ action: @escaping @Sendable () -> Void) {
        let isDown = state.withLock { state in
            let closing = keys(of: address, state).first { state.entries[$0]?.state == .disconnecting }
            guard let closing else { return true }
            state.entries[closing]?.waitingForDown.append(action)
            return false
        }
        if isDown { action() }
    }

    /// Calls the closure once no link is up, being made or being closed; immediately if none is.
    func whenQuiet(_ action: @escaping @Sendable () -> Void) {
        let isQuiet = state.withLock { state in
            if !state.isQuiet { state.waitingForQuiet.append(action) }
            return state.isQuiet
        }
        if isQuiet { action() }
    }

    /// Puts the present state into the mailbox immediately, then each transition, until the returned closure is called.
    func watch(_ address: BluetoothAddress, _ mailbox: Mailbox<Peripheral.ConnectionState>) -> @Sendable () -> Void {
        let id = state.withLock { state in
            let now = current(address, state)
            news.add { mailbox.send(now) }
            return state.entries[address.rawValue, default: Entry(address: address, state: now)].watchers.add(mailbox)
        }
        news.make()
        return {
            self.state.withLock { state in
                _ = state.entries[address.rawValue]?.watchers.remove(id)
                if state.entries[address.rawValue]?.isIdle == true { state.entries[address.rawValue] = nil }
            }
        }
    }
}
