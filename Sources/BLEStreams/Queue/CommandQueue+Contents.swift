extension CommandQueue {
    /// A snapshot of a queue: the command that runs, those that wait, and the one that has just ended.
    public struct Contents: Sendable {
        /// The command that runs; `nil` if none does.
        public internal(set) var running: Item?

        /// The commands that wait, the next one first.
        public internal(set) var waiting: [Item] = []

        /// The command whose end caused this snapshot, and how it ended; `nil` in other snapshots.
        public internal(set) var ended: (item: Item, outcome: Outcome)?

        /// Whether nothing runs and nothing waits.
        public var isEmpty: Bool { running == nil && waiting.isEmpty }
    }

    /// One command in a queue.
    public struct Item: Hashable, Sendable, Identifiable {
        /// Its number in this queue, counted from 1, for ``CommandQueue/cancel(_:)``.
        public let id: Int

        /// The ``Command/name`` of the command.
        public let name: String

        /// How urgent it is.
        public let priority: CommandQueue.Priority

        /// Its latest progress; `nil` if it has reported none.
        public internal(set) var progress: CommandProgress?
    }

    /// How a command ended.
    public enum Outcome: Sendable {
        /// It succeeded.
        case done
        /// It failed.
        case failed(any Error)
        /// It was cancelled while it waited or ran.
        case cancelled
    }

    /// What is in the queue: one snapshot at once, then one after each change and each progress report.
    ///
    /// It ends when the queue closes: when `withQueue` returns, or the session is stopped. A slow consumer gets the
    /// newest 256 snapshots.
    public var contents: BLEStream<Contents> { core.contents }
}

extension CommandQueue.Contents: CustomStringConvertible {
    /// `update (upload 512/1024); waiting: read 2A19, disconnect`.
    public var description: String {
        var text = running.map { item in item.name + (item.progress.map { " (\($0))" } ?? "") } ?? "nothing"
        if !waiting.isEmpty { text += "; waiting: " + waiting.map(\.name).joined(separator: ", ") }
        return text
    }
}
