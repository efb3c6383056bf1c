import BLERadio
import BLEStreams
import Glibc
import Synchronization

/// Counts the chunks of a message, keeps them, and tells about them on standard error.
///
/// On a terminal one line grows; else there is a line for the first chunk, and one a second.
final class TransferProgress: Sendable {
    private struct State {
        var octets: [UInt8] = []
        var count = 0
        var dropped = 0
        var begin = Duration.zero
        var told = Duration.zero
    }

    private let log: Log
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let timeline = RealTimeline()
    private let state = Mutex(State())

    init(_ log: Log) { self.log = log }

    /// How many chunks have come, the end mark's included.
    var count: Int { state.withLock { $0.count } }

    /// What has come so far, as it came.
    var octets: [UInt8] { state.withLock { $0.octets } }

    /// How many chunks were lost on this side.
    var dropped: Int { state.withLock { $0.dropped } }

    /// Another chunk has come; so many were lost until now.
    func add(_ chunk: ArraySlice<UInt8>, dropped: Int) {
        let now = timeline.now
        let text: String? = state.withLock { state in
            state.octets += chunk
            if state.count == 0 { state.begin = now }
            state.count += 1
            state.dropped = dropped
            guard isTerminal || state.count == 1 || now - state.told >= .seconds(1) else { return nil }
            state.told = now
            return "chunk \(state.count): \(state.octets.count) octets"
        }
        guard let text else { return }
        if isTerminal { log.overwrite(text) } else { log.say(text) }
    }

    /// The message is complete.
    func complete(_ size: Int) {
        let elapsed = timeline.now - state.withLock { $0.begin }
        let rate = Int(Double(size) / max(elapsed.seconds, 0.001))
        endLine()
        log.say("\(size) octets in \(count) chunks, \(elapsed.secondsText), \(rate) octets a second")
    }

    /// The message broke off.
    func brokenOff() { endLine() }

    private func endLine() { if isTerminal, count > 0 { log.endLine() } }
}
