import BLEProtocol
import BLERadio

extension CommandQueue {
    /// What is in a queue: what runs, what waits, and what has ended just now.
    public struct Contents: Sendable {
        /// The command that runs.
        public internal(set) var running: Item?

        /// Those that wait, the next one first.
        public internal(set) var waiting: [Item] = []

        /// The one whose end made this snapshot, and how it ended.
        public internal(set) var ended: (item: Item, outcome: Outcome)?

        /// Whether nothing runs and nothing waits.
        public var isEmpty: Bool { running == nil && waiting.isEmpty }
    }

    /// One command in a queue.
    public struct Item: Hashable, Sendable, Identifiable {
        /// Its number in this queue, from 1; for ``CommandQueue/cancel(_:)``.
        public let id: Int

        /// The ``Command/name`` of the command.
        public let name: String

        /// How urgent it is.
        public let priority: CommandQueue.Priority

        /// How far it has come; `nil` where it hasn't said.
        public internal(set) var progress: CommandProgress?
    }

    /// How a command ended.
    public enum Outcome: Sendable {
        /// It has done its work.
        case done
        /// It failed.
        case failed(any Error)
        /// It was cancelled, waiting or running.
        case cancelled
    }

    /// What is in the queue: at once, and then after each change and each progress.
    ///
    /// It never ends by itself. A consumer that is slow gets the newest 256 snapshots.
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
