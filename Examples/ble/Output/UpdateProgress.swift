import BLEStreams
import Glibc
import Synchronization

/// Shows how far an update is: a bar on a terminal, else a line of JSON for each percent and each phase.
final class UpdateProgress: Sendable {
    private struct State {
        var phase = ""
        var percent = -1
        var isInLine = false
        /// Nobody reads any more: the update goes on all the same.
        var isClosed = false
    }

    private let output: Output
    private let log: Log
    private let isTerminal: Bool
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(_ output: Output, _ log: Log) {
        self.output = output
        self.log = log
        isTerminal = isatty(STDERR_FILENO) == 1 && !output.isJSON
    }

    /// Shows progress, where it is other than what was shown last.
    func show(_ progress: CommandProgress) {
        state.withLock { state in
            let percent = progress.fraction.map { Int($0 * 100) } ?? -1
            let isNew = progress.phase != state.phase || percent != state.percent
            // A bar moves more often than its number: the rate and the time left do.
            guard isNew || isTerminal else { return }
            if isTerminal, state.isInLine, progress.phase != state.phase { log.endLine() }
            (state.phase, state.percent) = (progress.phase, percent)
            if isTerminal {
                log.overwrite(Self.bar(progress))
                state.isInLine = true
            } else if !state.isClosed {
                do {
                    try output.write(Array("\(Self.json(progress))\n".utf8))
                } catch {
                    state.isClosed = true
                }
            }
        }
    }

    /// The update is done.
    func complete(_ size: Int) throws {
        endLine()
        let elapsed = start.duration(to: .now)
        let rate = Int(Double(size) / max(elapsed.seconds, 0.001))
        log.say("\(size) octets, \(elapsed.secondsText), \(rate) octets a second")
        guard !isTerminal, !state.withLock({ $0.isClosed }) else { return }
        try output.write(Array("\(JSON.object(("phase", .string("done")), ("total", .number(size))))\n".utf8))
    }

    /// The update has failed.
    func brokenOff() { endLine() }

    private func endLine() {
        let isInLine = state.withLock { state in
            defer { state.isInLine = false }
            return state.isInLine
        }
        if isInLine { log.endLine() }
    }

    /// `upload [#########·····]  64 %  164/256 kB  41.2 kB/s  2.24 s left`.
    static func bar(_ progress: CommandProgress) -> String {
        guard let completed = progress.completed, let total = progress.total, let fraction = progress.fraction else {
            return progress.phase
        }
        let width = 30
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        var text = "\(progress.phase) [\(bar)] \(Int(fraction * 100)) %  \(completed / 1000)/\(total / 1000) kB"
        if let rate = progress.rate { text += "  \(Int(rate / 100) / 10).\(Int(rate / 100) % 10) kB/s" }
        if let left = progress.timeLeft { text += "  \(left.secondsText) left" }
        return text
    }

    /// `{"phase":"upload","percent":64,"completed":164000,"total":256000,"rate":41200.0,"timeLeft":2.24}`.
    static func json(_ progress: CommandProgress) -> JSON {
        .object(
            ("phase", .string(progress.phase)),
            ("percent", progress.fraction.map { .number(Int($0 * 100)) }),
            ("completed", .number(progress.completed)),
            ("total", .number(progress.total)),
            ("rate", progress.rate.map { .decimal($0.rounded()) }),
            ("timeLeft", progress.timeLeft.map { .decimal(($0.seconds * 100).rounded() / 100) })
        )
    }
}
