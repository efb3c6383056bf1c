import BLERadio
import Synchronization

extension ConnectAttempt {
    /// Has it watched whether the adapter hears anybody, until the end.
    func watch() {
        let attempt = RecoveryDriver.Attempt(
            pause: { [weak self] in self?.pause() },
            resume: { [weak self] in self?.resume() }
        )
        let end = core.began(attempt, to: peripheral.address)
        let isOver = state.withLock { state in
            if !state.isOver { state.end = end }
            return state.isOver
        }
        if isOver { end(false) }
    }

    /// Takes back what the radio was asked, for as long as the adapter is being switched off and on. What has been connected
    /// already is left alone, and so is a scan that tells the kind of the address: it rests by itself.
    func pause() {
        let activities: [RadioActivity?] = state.withLock { state in
            guard !state.isOver, !state.isPaused else { return [] }
            state.isPaused = true
            guard state.link == nil, state.connectingTurn == state.turn else { return [] }
            // What comes late belongs to a turn that is over.
            state.turn &+= 1
            state.isHeldBack = true
            return [state.endOfTurn.take(), state.activity.take()]
        }
        for activity in activities { activity?.cancel() }
    }

    /// Asks the radio again.
    func resume() {
        let goesOn = state.withLock { state in
            let goesOn = state.isHeldBack && !state.isOver
            (state.isPaused, state.isHeldBack) = (false, false)
            return goesOn
        }
        if goesOn { connect() }
    }

    /// Whether the next turn has to wait for ``resume()``.
    func holdsBack() -> Bool {
        state.withLock { state in
            if state.isPaused { state.isHeldBack = true }
            return state.isPaused
        }
    }
}
