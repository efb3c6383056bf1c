import BLERadio
import BLEStreams
import ConsoleOutput
import Glibc
import Synchronization

/// Counts the chunks of a message, keeps them, and reports them on standard error.
///
/// On a terminal, one line is updated; elsewhere there is a line for the first chunk, and then one a second.
final class TransferProgress: Sendable {
    private struct State {
        var octets: [UInt8] = []
        var count = 0
        var dropped = 0
        var begin = Duration.zero
        var told = Duration.zero
    }

    private let log: Log
    private let isRewritten = canRewriteLines(on: STDERR_FILENO)
    private let timeline = RealTimeline()
    private let state = Mutex(State())

    init(_ log: Log) { self.log = log }

    /// How many chunks have arrived, including the end mark.
    var count: Int { state.withLock { $0.count } }

    /// What has arrived so far, unchanged.
    var octets: [UInt8] { state.withLock { $0.octets } }

    /// How many chunks were lost on this machine.
    var dropped: Int { state.withLock { $0.dropped } }

    /// Adds a chunk; `dropped` is the total so far.
    func add(_ chunk: ArraySlice<UInt8>, dropped: Int) {
        let now = timeline.now
        let text: String? = state.withLock { state in
            state.octets += chunk
            if state.count == 0 { state.begin = now }
            state.count += 1
            state.dropped = dropped
            guard isRewritten || state.count == 1 || now - state.told >= .seconds(1) else { return nil }
            state.told = now
            return "chunk \(state.count): \(state.octets.count) octets"
        }
        guard let text else { return }
        if isRewritten { log.overwrite(text) } else { log.say(text) }
    }

    /// The message is complete.
    func complete(_ size: Int) {
        let elapsed = timeline.now - state.withLock { $0.begin }
        let rate = (Double(size) / max(elapsed.seconds, 0.001)).rateText
        endLine()
        log.say("\(size) octets in \(count) chunks, \(elapsed.secondsText), \(rate)")
    }

    /// The message is incomplete.
    func brokenOff() { endLine() }

    private func endLine() { if isRewritten, count > 0 { log.endLine() } }
}
