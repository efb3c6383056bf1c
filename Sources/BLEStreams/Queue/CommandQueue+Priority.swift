extension CommandQueue {
    /// How urgent a command is: a more urgent one overtakes those that wait, never the one that runs.
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable {
        public let rawValue: Int

        /// A priority of your own; higher is more urgent.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// For what may wait until there is nothing else to do.
        public static let low = CommandQueue.Priority(rawValue: -10)
        /// For most commands.
        public static let normal = CommandQueue.Priority(rawValue: 0)
        /// For what a person waits for.
        public static let high = CommandQueue.Priority(rawValue: 10)

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
}
