extension SessionState {
    /// The error of a call that the session's current state doesn't accept; the state stays as it is.
    public struct IllegalTrigger: Error, Sendable, CustomStringConvertible {
        /// The current state.
        public let state: SessionState

        /// The rejected trigger.
        package let trigger: SessionState.Trigger

        /// The triggers that the state accepts.
        package var accepted: [SessionState.Trigger.Kind] { ConnectionMachine.accepted(in: state.kind) }

        /// One line that names the call, the state, and what the state accepts.
        public var description: String {
            let others = accepted.map(\.words).joined(separator: ", ")
            return
                "'\(trigger.kind.words)' is not possible while the connection is '\(state.kind.words)': it accepts "
                + "\(others)"
        }
    }
}
