import BLEProtocol
import BLERadio
import Synchronization

/// The sessions of one central that wait for a connection slot; carries out what ``SlotOrder`` decides.
///
/// A session is known here while it tries or waits, and is woken when its turn comes, and when it need no longer be
/// held back. No lock is held while it is woken.
final class SlotLine: Sendable {
    typealias ID = SlotOrder.ID

    private struct State {
        var order = SlotOrder()
        var wakes: [ID: @Sendable () -> Void] = [:]
        var lastID = 0
        /// When the timer rings, and which one it is: it may ring before it is known here.
        var alarm: Duration?
        var number = 0
        var timer: RadioActivity?
    }

    private let timeline: any Timeline
    private let state = Mutex(State())

    init(timeline: any Timeline) { self.timeline = timeline }

    /// A number for a session, which is never used again.
    func newID() -> ID {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    // MARK: - Sessions

    /// A session is about to try: see ``isHeld(_:)``.
    ///
    /// - Parameter wake: called, perhaps in vain, when it may go on.
    func begin(
        _ id: ID,
        with peer: UInt64,
        on adapters: Set<SlotOrder.AdapterID>,
        wake: @escaping @Sendable () -> Void
    ) {
        change { state, now in
            state.wakes[id] = wake
            return state.order.begin(id, with: peer, on: adapters, at: now)
        }
    }

    /// Whether the session is to wait before it tries.
    func isHeld(_ id: ID) -> Bool { state.withLock { $0.order.isHeld(id) } }

    /// Whether there is a slot for the session, as far as is known: it is to try now.
    func hasTurn(_ id: ID) -> Bool { state.withLock { $0.order.hasTurn(id) } }

    /// Whether a session gets the next slot of one of these adapters.
    func isAwaited(on adapters: Set<SlotOrder.AdapterID>) -> Bool {
        state.withLock { $0.order.isAwaited(on: adapters) }
    }

    func refused(_ id: ID, by adapters: Set<SlotOrder.AdapterID>) {
        change { state, now in state.order.refused(id, by: adapters, at: now) }
    }

    func missed(_ id: ID) { change { state, now in state.order.missed(id, at: now) } }

    /// The session needs no slot, or is not known.
    func leave(_ id: ID) {
        // Released outside the lock: what it holds may be deallocated with it.
        let wake = state.withLock { $0.wakes.removeValue(forKey: id) }
        guard wake != nil else { return }
        change { state, now in state.order.leave(id, at: now) }
    }

    // MARK: - Links

    func linked(to peer: UInt64, by adapter: SlotOrder.AdapterID) {
        state.withLock { $0.order.linked(to: peer, by: adapter) }
    }

    func unlinked(from peer: UInt64, by adapter: SlotOrder.AdapterID) {
        change { state, now in state.order.unlinked(from: peer, by: adapter, at: now) }
    }

    // MARK: -

    private func change(_ body: (inout State, _ now: Duration) -> [ID]) {
        let now = timeline.now
        let (wakes, former, next) = state.withLock { state in
            let changed = body(&state, now)
            let wakes = changed.compactMap { state.wakes[$0] }
            let end = state.order.nextEnd
            guard end != state.alarm else { return (wakes, nil as RadioActivity?, nil as (Duration, Int)?) }
            state.alarm = end
            state.number += 1
            return (wakes, state.timer.take(), end.map { ($0, state.number) })
        }
        former?.cancel()
        if let (end, number) = next { arm(max(.zero, end - now), number) }
        for wake in wakes { wake() }
    }

    private func arm(_ delay: Duration, _ number: Int) {
        let timer = timeline.schedule(after: delay) { [weak self] in self?.rang(number) }
        let isOutdated = state.withLock { state in
            guard state.number == number else { return true }
            state.timer = timer
            return false
        }
        if isOutdated { timer.cancel() }
    }

    private func rang(_ number: Int) {
        change { state, now in
            guard state.number == number else { return [] }
            state.alarm = nil
            return state.order.timePassed(now)
        }
    }
}
