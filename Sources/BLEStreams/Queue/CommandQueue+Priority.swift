extension CommandQueue {
    /// How urgent a command is; more urgent ones overtake those that wait, and never the one that runs.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        public let rawValue: Int

        /// A priority of your own; higher is more urgent.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// What may wait until nothing else is to be done.
        public static let low = CommandQueue.Priority(rawValue: -10)
        /// What most commands have.
        public static let normal = CommandQueue.Priority(rawValue: 0)
        /// What a person waits for.
        public static let high = CommandQueue.Priority(rawValue: 10)

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
}
