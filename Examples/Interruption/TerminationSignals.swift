import BLEStreams
@preconcurrency import Dispatch
import Glibc
import Synchronization

/// The program was interrupted, and has cleaned up.
package struct Interrupted: Error {
    /// What it exits with, as a shell says it of one that SIGINT has ended.
    package static let exitStatus: Int32 = 128 + SIGINT
}

/// SIGINT, SIGTERM and SIGHUP, which Ctrl-C, `kill` and a terminal that is closed send, taken as events for as long as
/// this lives.
///
/// The first one cancels the work in hand; the second one ends the program at once.
package final class TerminationSignals: Sendable {
    private struct State {
        var hasCome = false
        var tell: (@Sendable () -> Void)?
    }

    private let sources: [any DispatchSourceSignal]
    private let state = Mutex(State())

    package init() {
        let queue = DispatchQueue(label: "termination signals")
        let numbers = [SIGINT, SIGTERM] + (Self.isIgnored(SIGHUP) ? [] : [SIGHUP])
        // Blocked for this thread and all that it starts, so that nobody but the sources takes them.
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        sources = numbers.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        for source in sources {
            source.setEventHandler { [weak self] in self?.received() }
            source.activate()
        }
    }

    /// Whether whoever started the program wants the signal to have no effect: `nohup` does.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    deinit { for source in sources { source.cancel() } }

    /// Does some work, and cancels it at the first signal, also at one that came before.
    ///
    /// - Returns: what the work returns.
    /// - Throws: what the work throws; ``Interrupted`` when it was interrupted, after it has ended.
    package func interrupt<Output: Sendable>(
        _ work: @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        try await withThrowingTaskGroup(of: Output?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                _ = try await self.stream.first()
                return nil
            }
            let output = try await group.next() ?? nil
            group.cancelAll()
            if let output { return output }
            // The work switches off what it has switched on, and drops its link.
            while await group.nextResult() != nil {}
            throw Interrupted()
        }
    }

    /// The first signal.
    private var stream: BLEStream<Void> {
        BLEStream { feed in
            let hasCome = self.state.withLock { state in
                state.tell = { feed.send(()) }
                return state.hasCome
            }
            if hasCome { feed.send(()) }
            return { self.state.withLock { $0.tell = nil } }
        }
    }

    private func received() {
        let (isSecond, tell) = state.withLock { state in
            defer { state.hasCome = true }
            return (state.hasCome, state.tell)
        }
        if isSecond { _exit(Interrupted.exitStatus) }
        tell?()
    }
}
