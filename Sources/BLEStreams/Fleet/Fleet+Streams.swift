import BLEProtocol
import BLERadio

/// A value of one session of a fleet.
public struct FleetValue: Sendable {
    /// The session that it came from.
    public let session: Session
    /// Which of its subscriptions sent it.
    public let subscription: SessionSubscription
    /// What it sent.
    public let value: CharacteristicValue

    /// The peripheral that sent it.
    public var peripheral: Peripheral? { session.peripheral }
}

/// A change of one session of a fleet.
public struct FleetTransition: Sendable {
    /// The session that has changed.
    public let session: Session
    /// What it is doing now, and why.
    public let transition: SessionTransition
}

extension Fleet {
    /// The values of all planned subscriptions of all sessions, those added later too, as they come.
    ///
    /// Gaps pass; ``BLEStream/withGaps()`` shows them without telling whose they are, which a stream of the session
    /// itself does. It ends with the fleet; a session that fails or is removed ends nothing.
    public var values: BLEStream<FleetValue> {
        let subject = StreamSubject(operation: "values", object: "of a fleet")
        return BLEStream(subject, timeline: central.core.timeline, buffer: .standard) { mailbox in
            self.watch(
                FleetWatcher(
                    start: { session in
                        let closers = session.plan.subscriptions.map { subscription in
                            session.channels.add(
                                subscription,
                                SessionConsumer(
                                    send: { [weak session] values in
                                        guard let session else { return }
                                        mailbox.send(
                                            contentsOf: values.map {
                                                FleetValue(session: session, subscription: subscription, value: $0)
                                            }
                                        )
                                    },
                                    lost: { mailbox.lost($0) },
                                    interrupted: { mailbox.interrupted(by: $0, for: $1) },
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

    /// What all sessions are doing: of each, the last transition at once, then every one; of those added later too.
    ///
    /// It ends with the fleet.
    public var transitions: BLEStream<FleetTransition> {
        let subject = StreamSubject(operation: "session states", object: "of a fleet")
        return BLEStream(subject, timeline: central.core.timeline, buffer: .standard) { mailbox in
            self.watch(
                FleetWatcher(
                    start: { session in
                        session.board.watch { [weak session] transition in
                            guard let session else { return }
                            mailbox.send(FleetTransition(session: session, transition: transition))
                        }
                    },
                    end: { mailbox.finish() }
                )
            )
        }
    }
}
