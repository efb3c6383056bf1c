import BLEProtocol
import BLERadio

/// What a program asks of a session beyond what its plan says.
extension Session {
    /// Connects now: after ``disconnect()``, or instead of waiting any longer for the next attempt. A peripheral that is
    /// yet to be found is looked for first.
    ///
    /// It returns at once; ``ready(timeout:)`` waits for what comes of it.
    ///
    /// - Throws: ``SessionState/IllegalTrigger`` where there is a link, or one is being made, or the session has failed.
    public func connect() throws(SessionState.IllegalTrigger) {
        try handle(peripheral == nil ? .scan : .connect)
        wake()
    }

    /// Looks for the peripheral again, and connects to what is found: for a plan that names filters another one, perhaps;
    /// for one that names an address the same, once it is heard.
    ///
    /// It returns at once; ``ready(timeout:)`` waits for what comes of it.
    ///
    /// - Throws: ``SessionState/IllegalTrigger`` where there is a link, or one is being made, or the session has failed. To leave a link
    ///   for another peripheral ``disconnect()`` first.
    public func search() throws(SessionState.IllegalTrigger) {
        try handle(.scan)
        wake()
    }

    /// Takes leave in order, and stays in the initial state until ``connect()`` or ``search()``: subscriptions are switched
    /// off, the link is dropped, or what leads to one is given up. Streams go on, and wait.
    ///
    /// It returns when the link is down, after some seconds at most, and isn't disturbed by cancellation. A session that
    /// has failed stays so; one that has not begun yet doesn't begin by itself.
    public func disconnect() async {
        await undisturbedReply(on: core.timeline) { finish in
            if !orders.disconnect({ finish(()) }) {
                // Nobody drives it: there is nothing to end.
                try? handle(.disconnect)
                finish(())
            }
            return {}
        }
    }

    /// Begins anew after a failure.
    ///
    /// - Throws: ``SessionState/IllegalTrigger`` in every state but failed.
    public func reset() throws(SessionState.IllegalTrigger) {
        try handle(.reset)
        wake()
    }

    /// Ends the session in order: subscriptions are switched off, the link is dropped, streams end. For a session that
    /// is one of a fleet, or that somebody else runs; it can't be run again.
    public func stop() { orders.stop() }
}
