import BLEStreams

/// One order of the decorators of a queue, the outermost first, and what it means.
struct QueueDecoration: Hashable, Sendable, CustomStringConvertible {
    enum Decorator: String, CaseIterable, Sendable {
        case connecting, authorizing, retrying
        case timingOut = "timing out"
    }

    /// What takes time when a command runs, in the order in which it is done.
    enum Phase: String, CaseIterable, Sendable {
        case connecting, authorizing, command
    }

    let order: [Decorator]

    var description: String { order.map(\.rawValue).joined(separator: ", ") }

    /// Every order of every choice of the four: 64, and the plain queue.
    static let all: [QueueDecoration] = orders(of: Decorator.allCases).map { QueueDecoration(order: $0) }
        .sorted { $0.order.count < $1.order.count }

    private static func orders(of rest: [Decorator]) -> [[Decorator]] {
        [[]] + rest.flatMap { first in orders(of: rest.filter { $0 != first }).map { [first] + $0 } }
    }

    // MARK: - What it means

    func has(_ decorator: Decorator) -> Bool { order.contains(decorator) }

    /// Whether one decorator stands outside of another; `false` where either is missing.
    func has(_ outer: Decorator, before inner: Decorator) -> Bool {
        guard let first = order.firstIndex(of: outer), let second = order.firstIndex(of: inner) else { return false }
        return first < second
    }

    /// What is done for each command.
    var phases: [Phase] {
        (has(.connecting) ? [.connecting] : []) + (has(.authorizing) ? [.authorizing] : []) + [.command]
    }

    /// What one time limit covers.
    var limited: [Phase] {
        guard has(.timingOut) else { return [] }
        return phases.filter { phase in
            switch phase {
            case .command: true
            case _ where has(.timingOut, before: .retrying): true
            case .connecting: has(.timingOut, before: .connecting)
            case .authorizing: has(.timingOut, before: .authorizing) || has(.timingOut, before: .connecting)
            }
        }
    }

    /// Whether each attempt has a time limit of its own.
    var limitsEachAttempt: Bool { has(.retrying, before: .timingOut) }

    /// A row of the table in the documentation.
    var row: String {
        let retried = has(.retrying) ? Self.list(phases) : ""
        var limited = Self.list(limited)
        if has(.timingOut, before: .retrying) { limited = "all attempts: \(limited), the pauses" }
        if limitsEachAttempt { limited = "each attempt: \(limited)" }
        return "| \(order.isEmpty ? "none" : description) | \(retried) | \(limited) |"
    }

    private static func list(_ phases: [Phase]) -> String { phases.map(\.rawValue).joined(separator: ", ") }

    static var table: String {
        let head = ["| order, the outermost first | tried again | the time limit covers |", "|---|---|---|"]
        return (head + all.map(\.row)).joined(separator: "\n") + "\n"
    }

    // MARK: - The queue

    /// Decorates a queue so.
    func decorate(
        _ queue: CommandQueue,
        limit: Duration,
        policy: RetryPolicy = .constant(.seconds(1), attempts: 3),
        authorize: @escaping @Sendable (Link) async throws -> Void
    ) -> CommandQueue {
        order.reduce(queue) { queue, decorator in
            switch decorator {
            case .connecting: queue.connecting()
            case .authorizing: queue.authorizing(with: authorize)
            case .retrying: queue.retrying(policy)
            case .timingOut: queue.timingOut(after: limit)
            }
        }
    }
}
