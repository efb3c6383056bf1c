/// Which command of a queue is next; a value without I/O.
///
/// One at a time; those of a higher priority first, and of one priority in the order in which they came.
struct QueueOrder {
    typealias ID = Int

    private(set) var waiting: [(id: ID, priority: CommandPriority)] = []
    private(set) var running: ID?

    /// Puts a command at the end of those of its priority.
    mutating func add(_ id: ID, _ priority: CommandPriority) {
        let place = waiting.firstIndex { $0.priority < priority } ?? waiting.endIndex
        waiting.insert((id, priority), at: place)
    }

    /// The command that begins now, if there is one and nothing runs.
    mutating func beginNext() -> ID? {
        guard running == nil, !waiting.isEmpty else { return nil }
        running = waiting.removeFirst().id
        return running
    }

    /// Takes a command out, waiting or running.
    mutating func remove(_ id: ID) {
        if running == id { running = nil } else { waiting.removeAll { $0.id == id } }
    }
}

/// How urgent a command is; more urgent ones overtake those that wait, and never the one that runs.
public struct CommandPriority: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int

    /// A priority of your own; higher is more urgent.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// What may wait until nothing else is to be done.
    public static let low = CommandPriority(rawValue: -10)
    /// What most commands have.
    public static let normal = CommandPriority(rawValue: 0)
    /// What a person waits for.
    public static let high = CommandPriority(rawValue: 10)

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
