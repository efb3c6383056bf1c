import BLERadio
import Synchronization

/// What tests check on a central, and on a link, once nobody uses it.
extension Central {
    /// What is still kept of connections, in words; nothing once every user has left and all links are down.
    package var leftovers: [String] {
        var left: [String] = []
        let entries = core.connector.state.withLock { $0.entries.count + $0.current.count + $0.outbox.count }
        if entries != 0 { left.append("the connector has \(entries) entries") }
        if !areTurnsFree { left.append("the connector's turns are not all free") }
        let isQuiet = Ending<Void>()
        core.states.whenQuiet { isQuiet.end() }
        if !isQuiet.hasEnded { left.append("a connection is not said to be over") }
        if !core.states.isEmpty { left.append("connection states are still kept, or watched") }
        return left
    }

    /// Whether the radio still has a turn for as many peripherals as it had at first.
    private var areTurnsFree: Bool {
        let width = Connector.width
        let granted = Mutex(0)
        let leaves = (0..<width).map { _ in core.connector.turns.enter(grant: { granted.withLock { $0 += 1 } }) }
        defer { for leave in leaves { leave() } }
        return granted.withLock { $0 } == width
    }
}

extension Link {
    /// How many callbacks wait for the end of the link. A flow or a stream that has ended leaves none.
    package var endWatchers: Int { lifetime.end.observers }

    /// What is still kept of operations and subscriptions, in words; nothing once all of them have ended.
    package var leftovers: [String] {
        bearer.state.withLock { state in
            var left: [String] = []
            if !state.calls.isEmpty { left.append("calls") }
            if !state.machine.operations.isEmpty { left.append("operations") }
            if !state.machine.purposes.isEmpty { left.append("procedures") }
            if state.machine.subscriptions.keys.contains(where: { $0 != LinkMachine.own }) {
                left.append("subscriptions")
            }
            if !state.raises.isEmpty { left.append("raises") }
            if state.machine.lane.isWaitedFor { left.append("who waits for the lane") }
            return left
        }
    }
}
