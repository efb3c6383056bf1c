import Synchronization

/// The links that a task holds, with their holds, to detect a task that would wait for itself.
///
/// Only tasks that do the holder's own work count. A task merely started by it may wait: the holder need not wait for
/// it.
final class LaneHolds: Sendable {
    private struct State {
        var passes: [ObjectIdentifier: LinkMachine.Pass] = [:]
        var tasks: Set<Int> = []
    }

    /// The holds of the running task and its child tasks.
    @TaskLocal static var current: LaneHolds?

    /// The enclosing holds.
    private let outer: LaneHolds?
    private let state = Mutex(State())

    init(inside outer: LaneHolds? = LaneHolds.current) { self.outer = outer }

    func add(_ hold: Bearer.Hold) { state.withLock { $0.passes[ObjectIdentifier(hold.bearer)] = hold.id } }

    func remove(_ hold: Bearer.Hold) {
        _ = state.withLock { $0.passes.removeValue(forKey: ObjectIdentifier(hold.bearer)) }
    }

    /// The running task's hold of a link, if it has one.
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

    /// The identity of the running task; 0 outside a task.
    static var task: Int { withUnsafeCurrentTask { $0?.hashValue ?? 0 } }
}
