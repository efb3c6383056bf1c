import BLEProtocol
import BLERadio

extension Fleet {
    /// The values of all planned subscriptions of all sessions, including sessions added later, in the order of
    /// arrival.
    ///
    /// ``BLEStream/withGaps()`` shows the gaps, but not in which session; a stream of the session itself does. The
    /// stream ends with the fleet, not when a session fails or is removed.
    public var values: BLEStream<Session.Value> {
        let subject = StreamSubject(operation: "values", object: "of a fleet")
        return BLEStream(subject, timeline: central.core.timeline, buffer: .standard) { mailbox in
            self.watch(
                FleetWatcher(
                    start: { session in
                        let closers = session.plan.subscriptions.map { subscription in
                            session.channels.add(
                                subscription,
                                SessionConsumer(
                                    put: { [weak session] values in
                                        guard let session else { return false }
                                        let values = values.map {
                                            Session.Value(session: session, subscription: subscription, value: $0)
                                        }
                                        return mailbox.put(contentsOf: values).mustWake
                                    },
                                    lost: { mailbox.put(lost: $0) },
                                    interrupted: { mailbox.put($0) },
                                    wake: { mailbox.wake() },
                                    finish: nil
                                )
                            )
                        }
                        return { for close in closers { close() } }
                    },
                    end: { mailbox.finish() }
                )
            )
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
