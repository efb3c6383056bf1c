import Synchronization

/// The links that a task holds, and in the name of which hold: for telling who would wait for itself.
///
/// Only the tasks that do the holder's own work count. One that was merely started by it may wait: nobody says that the
/// holder waits for that.
final class LaneHolds: Sendable {
    private struct State {
        var passes: [ObjectIdentifier: LinkMachine.Pass] = [:]
        var tasks: Set<Int> = []
    }

    /// Of the task that runs now, and of those that it has started.
    @TaskLocal static var current: LaneHolds?

    /// What was held around this.
    private let outer: LaneHolds?
    private let state = Mutex(State())

    init(inside outer: LaneHolds? = LaneHolds.current) { self.outer = outer }

    func add(_ hold: Bearer.Hold) { state.withLock { $0.passes[ObjectIdentifier(hold.bearer)] = hold.id } }

    func remove(_ hold: Bearer.Hold) {
        _ = state.withLock { $0.passes.removeValue(forKey: ObjectIdentifier(hold.bearer)) }
    }

    /// The hold of a link, where the running task has one.
    func pass(of bearer: Bearer) -> LinkMachine.Pass? {
        let (pass, isOwn) = state.withLock { ($0.passes[ObjectIdentifier(bearer)], $0.tasks.contains(Self.task)) }
        return (isOwn ? pass : nil) ?? outer?.pass(of: bearer)
    }

    /// Whether the running task does the holder's work.
    var isOfThisTask: Bool { state.withLock { $0.tasks.contains(Self.task) } }

    /// Runs the closure, which does the holder's work.
    func working<Output>(_ body: () async throws -> Output) async rethrows -> Output {
        let task = Self.task
        let isNew = state.withLock { $0.tasks.insert(task).inserted }
        defer { if isNew { _ = state.withLock { $0.tasks.remove(task) } } }
        return try await Self.$current.withValue(self) { try await body() }
    }

    /// What tells the running task from others.
    private static var task: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }
}
