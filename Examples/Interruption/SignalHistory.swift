import Glibc

/// The signals that have come, and what the next one asks for.
///
/// One event can send several. `timeout` sends SIGTERM to its child and to the process group that the child is in. When
/// a terminal closes, its shell sends SIGHUP to its jobs, and the kernel sends another one when the shell has ended. A
/// service manager may send SIGTERM together with SIGHUP. None of these means that the cleaning up takes too long.
package struct SignalHistory: Sendable {
    /// What a signal asks for.
    package enum Demand: Sendable {
        /// The innermost work is to end.
        case endWork
        /// All work is to end.
        case endAllWork
        /// The program is to end at once, without cleaning up. SIGHUP never asks for that, however late it comes.
        case exit
        /// Nothing beyond what an earlier signal asked for.
        case nothing
    }

    /// Signals that come less than this after the first one belong to the same event.
    package static let period = Duration.milliseconds(500)

    private var first: ContinuousClock.Instant?

    /// Whether a signal has come that nobody types for one command: SIGTERM or SIGHUP.
    package private(set) var endsAll = false

    /// Whether a signal has come, and no other work has gone on since.
    package var hasCome: Bool { first != nil }

    package init() {}

    /// What a signal that comes now asks for.
    package mutating func received(_ number: Int32, at moment: ContinuousClock.Instant) -> Demand {
        if let first, number != SIGHUP, moment - first >= Self.period { return .exit }
        let isFirst = first == nil
        if isFirst { first = moment }
        if number != SIGINT, !endsAll {
            endsAll = true
            return .endAllWork
        }
        return isFirst ? .endWork : .nothing
    }

    /// The interrupted work has ended, and other work goes on: the next signal is its first.
    ///
    /// - Returns: whether other work may go on.
    package mutating func forget() -> Bool {
        if endsAll { return false }
        first = nil
        return true
    }
}
