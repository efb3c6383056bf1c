import BLERadio
import BLEStreams
import ConsoleOutput
import Glibc
import Synchronization

/// Shows the progress of an update: a bar on a terminal; and where results go elsewhere, or no bar is shown, a line of
/// JSON for each percent and each phase.
final class UpdateProgress: Sendable {
    private struct State {
        var phase = ""
        var percent = -1
        var isInLine = false
        /// How much of the image the device had before anything was sent; `nil`: all of it.
        var had: Int?
        /// Whether something of the image was sent.
        var hasSent = false
        /// Why no more lines are written: the update continues all the same.
        var failure: (any Error)?
    }

    private let output: Output
    private let log: Log
    private let showsBar: Bool
    private let writesLines: Bool
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(_ output: Output, _ log: Log) {
        self.output = output
        self.log = log
        showsBar = canRewriteLines(on: STDERR_FILENO) && !output.isJSON
        writesLines = !showsBar || !output.isTerminal
    }

    /// Shows progress if it differs from what was shown last.
    func show(_ progress: CommandProgress) {
        state.withLock { state in
            if progress.phase == "upload", !state.hasSent {
                // Only what is sent has a rate: before that, the device says which octet it expects.
                if progress.rate == nil { state.had = progress.completed ?? 0 } else { state.hasSent = true }
            }
            let percent = progress.fraction.map { Int($0 * 100) } ?? -1
            let isNew = progress.phase != state.phase || percent != state.percent
            // On a terminal, the line changes more often than the percentage: the rate and the time left do.
            guard isNew || showsBar else { return }
            if showsBar, state.isInLine, progress.phase != state.phase { log.endLine() }
            (state.phase, state.percent) = (progress.phase, percent)
            if showsBar {
                log.overwrite(Self.bar(progress, room: log.room))
                state.isInLine = true
            }
            if writesLines, isNew, state.failure == nil {
                do {
                    try output.write(Array("\(Self.json(progress))\n".utf8))
                } catch {
                    state.failure = error
                }
            }
        }
    }

    /// The update is done, with an image of so many octets; `nil`: it was about none.
    ///
    /// - Throws: why a line could not be written, even an earlier one: ``OutputClosed`` if nobody reads any more.
    func complete(_ size: Int?) throws {
        endLine()
        if let size { log.say(summary(of: size)) }
        guard writesLines else { return }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        let time = JSON.string(RealTimeline().wallTime.isoText)
        let end = JSON.object(("phase", .string("done")), ("total", size.map { .number($0) }), ("time", time))
        try output.write(Array("\(end)\n".utf8))
    }

    /// `256000 octets, 6.2 s, 41.2 kB/s`; `1000 of 256000 octets, …` if the device had the others already; without a
    /// rate if it had all.
    func summary(of size: Int) -> String {
        let elapsed = start.duration(to: .now)
        let sent = size - (state.withLock { $0.had } ?? size)
        guard sent > 0 else { return "nothing was sent: the device had the image already" }
        let octets = sent == size ? "\(size) octets" : "\(sent) of \(size) octets"
        return "\(octets), \(elapsed.secondsText), \((Double(sent) / max(elapsed.seconds, 0.001)).rateText)"
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

    /// `upload [#########·····]  64 %  164/256 kB  41.2 kB/s  12 s left`, in a line of this many characters: what
    /// doesn't fit is left out, from the end.
    static func bar(_ progress: CommandProgress, room: Int) -> String {
        guard let completed = progress.completed, let total = progress.total, let fraction = progress.fraction else {
            return progress.phase
        }
        var facts = ["] \(Int(fraction * 100)) %", "\(completed / 1000)/\(total / 1000) kB"]
        if let rate = progress.rate { facts.append(rate.rateText) }
        if let left = progress.timeLeft, completed < total { facts.append("\(left.roughText) left") }
        func width() -> Int { room - progress.phase.count - 2 - facts.joined(separator: "  ").count }
        while width() < shortestBar, facts.count > 1 { facts.removeLast() }
        let filled = max(0, min(longestBar, width()))
        let done = Int(fraction * Double(filled))
        let bar = String(repeating: "#", count: done) + String(repeating: ".", count: filled - done)
        return "\(progress.phase) [\(bar)\(facts.joined(separator: "  "))"
    }

    private static let shortestBar = 10
    private static let longestBar = 30

    /// `{"phase":"upload","percent":64,"completed":164000,"total":256000,"rate":41200.0,"timeLeft":2.24,"time":…}`.
    static func json(_ progress: CommandProgress) -> JSON {
        .object(
            ("phase", .string(progress.phase)),
            ("percent", progress.fraction.map { .number(Int($0 * 100)) }),
            ("completed", .number(progress.completed)),
            ("total", .number(progress.total)),
            ("rate", progress.rate.map { .decimal($0.rounded()) }),
            ("timeLeft", progress.timeLeft.map { .decimal(($0.seconds * 100).rounded() / 100) }),
            ("time", .string(RealTimeline().wallTime.isoText))
        )
    }
}

extension Double {
    /// Octets a second, in thousands: `41.2 kB/s`.
    var rateText: String { "\(Int(self / 100) / 10).\(Int(self / 100) % 10) kB/s" }
}

extension Duration {
    /// A waiting time, as precisely as needed: `12 s`, `3 min 20 s`.
    fileprivate var roughText: String {
        let seconds = Int(seconds.rounded())
        return seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    }
}
