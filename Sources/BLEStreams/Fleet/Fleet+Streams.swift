import BLERadio

extension Fleet {
    /// The values of all planned subscriptions of all sessions, including sessions added later, in the order of
    /// arrival.
    ///
    /// ``BLEStream/withGaps()`` shows the gaps, but not in which session; a stream of the session itself does. The
    /// stream ends with the fleet, not when a session fails or is removed.
    ///
    /// A stream may be left and a new one begun: what comes in between, and what a stream has not delivered when it is
    /// left, is buffered for the next one, up to 1024 values of each subscription without another stream, of which the
    /// oldest are dropped and counted. The next stream begins with it, session after session, and with a gap where
    /// links were lost since the last value was taken. To take many values one at a time, iterate over one stream.
    public var values: BLEStream<Session.Value> {
        let subject = StreamSubject(operation: "values", object: "of a fleet")
        let suffix: @Sendable (Session.Value, Int) -> Session.Value = { $0.suffix(of: $1) }
        return BLEStream(subject, timeline: central.core.timeline, buffer: .standard, suffix: suffix) {
            (mailbox: Mailbox<Session.Value>, _: ConsumerPlace?) -> () -> Void in
            let rest = SessionValuesRest(of: mailbox)
            let close = self.watch(
                FleetWatcher(
                    start: { session in session.addConsumer(mailbox, rest) },
                    end: { mailbox.finish() }
                )
            )
            return {
                close()
                rest.finish()
            }
        }
    }

    /// The transitions of all sessions, including sessions added later: of each, the last one immediately, then every
    /// one.
    ///
    /// The stream ends with the fleet.
    public var transitions: BLEStream<Session.Transition> {
        let subject = StreamSubject(operation: "session states", object: "of a fleet")
        return BLEStream(subject, timeline: central.core.timeline, buffer: .standard) { mailbox in
            self.watch(
                FleetWatcher(
                    start: { session in
                        session.board.watch { [weak session] step in
                            guard let session else { return }
                            mailbox.send(Session.Transition(session, step))
                        }
                    },
                    end: { mailbox.finish() }
                )
            )
        }
    }
}
