public import BLEProtocol

extension Session {
    /// One step of a session's state: what it is now, what it was, and why.
    public struct Transition: Sendable {
        /// The session that has changed.
        public let session: Session

        /// The state now.
        public let state: SessionState

        /// The state before; `nil` where there was none: the session has just been made.
        public let previous: SessionState?

        /// What brought it about; `nil` where there was no state before.
        public let cause: SessionState.Trigger?

        /// When it was made, on the clock of the radio's timeline.
        public let time: Duration

        init(_ session: Session, _ step: SessionStep) {
            self.session = session
            state = step.state
            previous = step.previous
            cause = step.cause
            time = step.time
        }
    }
}

extension Session.Transition: CustomStringConvertible {
    /// The state, and the cause in brackets.
    public var description: String { cause.map { "\(state) (\($0))" } ?? "\(state)" }
}

/// One step, as the machine makes it.
struct SessionStep: Sendable {
    let state: SessionState
    let previous: SessionState?
    let cause: SessionState.Trigger?
    let time: Duration
}
