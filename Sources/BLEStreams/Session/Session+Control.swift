import BLEProtocol
import BLERadio

/// A program's control of a session.
extension Session {
    /// Connects now: after ``disconnect()``, or without waiting for the time of the next attempt. A peripheral that is
    /// not found yet, or was found under an address that changes by design, is searched for first.
    ///
    /// It returns immediately; ``ready(timeout:)`` waits for the result.
    ///
    /// - Throws: ``SessionState/IllegalTrigger`` if there is a link, or the peripheral is being searched for or
    ///   connected to, or the session has failed.
    public func connect() throws(SessionState.IllegalTrigger) {
        try handle(mustSearch ? .scan : .connect)
        wake()
    }

    /// Searches for the peripheral again, and connects to the result: with filters in the plan, this may be another
    /// peripheral; with an address, it is the same one, once it is heard.
    ///
    /// It returns immediately; ``ready(timeout:)`` waits for the result.
    ///
    /// - Throws: ``SessionState/IllegalTrigger`` if there is a link, or the peripheral is being searched for or
    ///   connected to, or the session has failed. To change to another peripheral, call ``disconnect()`` first.
    public func search() throws(SessionState.IllegalTrigger) {
        try handle(.scan)
        wake()
    }

    /// Disconnects cleanly, and stays in the initial state until ``connect()`` or ``search()``: unsubscribes and drops
    /// the link, or abandons the attempt to make one. Streams stay open and wait.
    ///
    /// It returns when the link is down, after some seconds at most, even if the task is cancelled; in the program's
    /// first steps on a link, which are cancelled by it, it returns immediately. In the first steps of another session,
    /// in a command of a session's queue and in a closure of ``PairingAnswers``, cancellation ends the wait, but not
    /// the disconnecting. A failed session stays failed; one that has not begun yet doesn't begin by itself.
    public func disconnect() async {
        if isTakingFirstSteps, orders.disconnect({}) { return }
        await Self.wait(on: core.timeline) { done in
            if !orders.disconnect(done) {
                // It is not being run: there is nothing to end.
                try? handle(.disconnect)
                done()
            }
        }
    }

    /// Restarts the session after a failure.
    ///
    /// - Throws: ``SessionState/IllegalTrigger`` in every state except failed.
    public func reset() throws(SessionState.IllegalTrigger) {
        try handle(.reset)
        wake()
    }

    /// Ends the session cleanly: unsubscribes, drops the link and ends the streams. Use it for a session of a fleet,
    /// or one that runs in another task; the session can't be run again.
    public func stop() {
        // Nobody else ends what waits for a session that isn't run.
        if !orders.stop() { end() }
    }

    /// Nobody runs the session any more.
    func endDriving() {
        // If the task that ran it was cancelled, it may have been stopped behind its end, and left that to the run.
        if orders.endDriving() { end() }
    }

    /// Ends the streams, and whoever waits for the session.
    func end() {
        channels.finish(throwing: nil)()
        board.end()
        // One that was only cancelled may be run again, with the same queue.
        guard orders.isStopped else { return }
        queueCore.abandon()
        forgetSteps()
    }

    /// The error of whoever waits for the session when it has ended.
    var over: BLEError {
        BLEError(
            .ended,
            operation: "session",
            object: "with \(self)",
            cause: "the session has ended",
            remedy: "Use the session only while it runs."
        )
    }

    /// Whether the running task takes this session's first steps on a link: they end before the session disconnects.
    private var isTakingFirstSteps: Bool { Self.firstSteps?.areTaken(by: self) ?? false }

    /// Whether the session ends only after the work of the running task.
    var endsAfterThis: Bool { isTakingFirstSteps || queueCore.isInside }

    /// Asks for the end of a session or of its link, and waits for it, even if the task is cancelled.
    ///
    /// The work of a session, and a pairing's answers, which whoever ends them waits for and cancels, give up then: two
    /// sessions whose work ends the other one would wait for each other, and an answer for itself.
    static func wait(on timeline: any Timeline, for ask: (@escaping @Sendable () -> Void) -> Void) async {
        let isDone = Ending<Void>()
        ask { isDone.end() }
        if firstSteps?.end.hasEnded == false || QueueCore.isInsideSession || SecurityRaiser.isAnswering {
            try? await isDone.wait(on: timeline)
        } else {
            await undisturbedReply(on: timeline) { finish in
                isDone.whenEnded { _ in finish(()) }
            }
        }
    }
}
