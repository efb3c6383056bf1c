import BLEProtocol
import BLERadio
import Synchronization

extension Session {
    /// Reports the state that a trigger has led to, and how long a peripheral was away, to the handlers of events.
    ///
    /// Called for one transition after the other, in their order: the program and the driver may cause some at the same
    /// time.
    func tell(_ events: EventBoard, _ new: SessionState, because trigger: SessionState.Trigger) {
        let now = core.timeline.now
        var state = new
        let away: Duration? = facts.withLock { facts in
            switch (state, trigger) {
            case (.disconnected, .linkLost), (.disconnected, .adapterLost):
                // It can only come back to a session that has had it.
                if facts.wasReady { facts.lostSince = facts.lostSince ?? now }
            case (.disconnected(.initial), _), (.failed, _): (facts.lostSince, facts.wasReady) = (nil, false)
            case (.connected(.ready), _):
                facts.wasReady = true
                return facts.lostSince.take().map { now - $0 }
            default: break
            }
            return nil
        }
        if case .failed(var error) = state {
            // The received part of a message is a value.
            error.dropReceived()
            state = .failed(error)
        }
        events.tell(.session(state), of: peripheral?.address)
        if let away { events.tell(.reconnected(after: away), of: peripheral?.address) }
    }
}
