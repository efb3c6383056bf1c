extension SessionState {
    /// A trigger that came in a state that doesn't accept it.
    public struct IllegalTrigger: Error, Sendable, CustomStringConvertible {
        /// The state in which it came, and which stays.
        public let state: SessionState

        /// What came.
        public let trigger: SessionState.Trigger

        /// What would have been accepted.
        package var accepted: [SessionState.Trigger.Kind] { ConnectionMachine.accepted(in: state.kind) }

        /// One line that names both, and what the state does accept.
        public var description: String {
            let others = accepted.map(\.words).joined(separator: ", ")
            return
                "'\(trigger.kind.words)' is not possible while the connection is '\(state.kind.words)': it accepts \(others)"
        }
    }
}
