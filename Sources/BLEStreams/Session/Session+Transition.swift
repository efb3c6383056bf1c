public import BLEProtocol

extension Session {
    /// A change of a session's state: the new state, the previous one, and the cause.
    public struct Transition: Sendable {
        /// The session.
        public let session: Session

        /// The new state.
        public let state: SessionState

        /// The previous state; `nil` if there was none, since the session was just created.
        public let previous: SessionState?

        /// What caused the change; `nil` if there was no state before.
        public let cause: Cause?

        /// The time of the change, on the clock of the radio's timeline.
        public let time: Duration

        init(_ session: Session, _ step: SessionStep) {
            self.session = session
            state = step.state
            previous = step.previous
            cause = step.cause.map { trigger in
                Cause(trigger: trigger, object: step.object, obstacle: session.obstacle(behind: trigger))
            }
            time = step.time
        }
    }
}

extension Session.Transition: CustomStringConvertible {
    /// The state, and the cause in brackets.
    public var description: String { cause.map { "\(state) (\($0))" } ?? "\(state)" }
}

extension Session.Transition {
    /// What the program asked for, or what happened to the connection.
    public struct Cause: Sendable, CustomStringConvertible {
        package let trigger: SessionState.Trigger

        /// The session, if the error lacks an object.
        let object: String

        /// Which of joined adapters are awaited; `nil` unless only they may connect.
        let obstacle: BLEError?

        /// The error, if the cause is a failure of the peripheral or the adapter; for a lost link, its
        /// ``BLEError/reason`` says how the link ended.
        public var error: BLEError? {
            let known = trigger.error(about: object)
            guard var error = known, let obstacle else { return known }
            (error.object, error.cause, error.remedy) = (obstacle.object, obstacle.cause, obstacle.remedy)
            return error
        }

        /// The cause in words: `link lost: closed by the peer (HCI 0x13)`.
        public var description: String {
            obstacle.map { "\(trigger.kind.words): \($0.cause)" } ?? trigger.description
        }
    }
}

/// A change, as the machine makes it.
struct SessionStep: Sendable {
    let state: SessionState
    let previous: SessionState?
    let cause: SessionState.Trigger?
    /// The session, if the error of the cause lacks an object.
    let object: String
    let time: Duration
}
