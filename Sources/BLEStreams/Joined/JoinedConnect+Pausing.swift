import BLERadio
import Synchronization

/// Adapters that a recovery plan switches off and on, or resets, during an attempt.
extension JoinedConnect {
    /// Has each adapter's recovery tell of such steps, until the attempt ends; also that of an adapter that comes
    /// later. A step that is under way is told now.
    func followSteps() {
        leaveLater(radio.followRecoveries { [weak self] id, driver in self?.follow(id, driver) })
    }

    private func follow(_ id: AdapterID, _ driver: RecoveryDriver) {
        leaveLater(
            driver.add(
                pausing: RecoveryDriver.Attempt(
                    pause: { [weak self] in self?.pause(id) },
                    resume: { [weak self] in self?.resume(id) }
                )
            )
        )
    }

    /// Calls the closure when the attempt ends, at once if it has ended.
    private func leaveLater(_ leave: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            guard state.result != nil else { return true }
            state.leaveSteps.append(leave)
            return false
        }
        if isOver { leave() }
    }

    /// Withdraws the request to this adapter, and leaves the peripheral to another one, if there is one.
    private func pause(_ adapter: AdapterID) {
        let turn = state.withLock { state -> Int? in
            state.paused.insert(adapter)
            return state.adapter == adapter ? state.turn : nil
        }
        guard let turn, endTurn(turn) != nil else { return }
        next()
    }

    /// The step has ended: what the adapter refused before it no longer counts.
    private func resume(_ adapter: AdapterID) {
        let isAwaited = state.withLock { state in
            state.paused.remove(adapter)
            state.excluded.remove(adapter)
            state.off.remove(adapter)
            state.full.remove(adapter)
            // Of two that end at once, one goes on.
            defer { state.awaitsStep = false }
            return state.awaitsStep
        }
        if isAwaited { next() }
    }

    /// Whether a step is under way on an adapter through which the peripheral could be connected to afterwards.
    func awaitsStep() -> Bool {
        let paused = state.withLock { $0.paused }
        let holders = radio.choose { chooser, _ in chooser.holders(of: peer) }
        return !(holders.isEmpty ? paused : paused.intersection(holders)).isEmpty
    }
}
