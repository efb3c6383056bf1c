import BLERadio
import Synchronization

/// Tells one consumer what is so when it begins to watch, then what changes, and nothing twice.
///
/// A loop begins when its task gets to run, which on a busy machine is later than the first central: from the changes
/// alone it would never learn of that one.
final class PresentFirst: Sendable {
    private struct State {
        var told = ToldState()
        /// What has changed while the consumer was still being told what is so; `nil` once that is over.
        var early: [PeripheralServer.Event]? = []
    }

    private let state = Mutex(State())
    private let deliver: @Sendable (PeripheralServer.Event) -> PeripheralServer.Taken

    init(deliver: @escaping @Sendable (PeripheralServer.Event) -> PeripheralServer.Taken) { self.deliver = deliver }

    /// Takes a change, from any thread.
    func take(_ event: PeripheralServer.Event) -> PeripheralServer.Taken {
        let isForNow = state.withLock { state in
            guard state.early == nil else {
                state.early?.append(event)
                return false
            }
            return state.told.changes(with: event)
        }
        return isForNow ? deliver(event) : .yes
    }

    /// Tells what is so, and what has changed meanwhile.
    ///
    /// - Parameter present: what is so, looked up while ``take(_:)`` was already given each change.
    func begin(with present: [PeripheralServer.Event]) {
        var next: [PeripheralServer.Event]? = present
        while let events = next {
            for event in events where state.withLock({ $0.told.changes(with: event) }) { _ = deliver(event) }
            next = state.withLock { state in
                let early = state.early ?? []
                state.early = early.isEmpty ? nil : []
                return early.isEmpty ? nil : early
            }
        }
    }
}

/// Which centrals and subscriptions a consumer knows of.
private struct ToldState {
    private struct Place: Hashable {
        var central: Int
        var handle: UInt16
    }

    private var centrals: Set<Int> = []
    private var subscriptions: [Place: PeripheralServer.SubscriptionChange.Kind] = [:]

    /// Notes an event; returns whether it is news.
    mutating func changes(with event: PeripheralServer.Event) -> Bool {
        switch event {
        case .connected(let central): return centrals.insert(central.id).inserted
        case .disconnected(let central, _): return centrals.remove(central.id) != nil
        case .subscription(let change):
            let place = Place(central: change.central.id, handle: change.handle)
            let former = subscriptions[place] ?? .none
            subscriptions[place] = change.isSubscribed ? change.kind : nil
            return former != change.kind
        case .paired, .pairingFailed, .read, .write, .lostWrite, .refusedWrite, .lostPDUs: return true
        }
    }
}
