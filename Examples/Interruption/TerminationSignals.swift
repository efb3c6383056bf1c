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
/// The first one cancels the work in hand; the second one, while that ends, ends the program at once.
package final class TerminationSignals: Sendable {
    private struct State {
        var hasCome = false
        /// Whom it is told: the innermost work, which is the last.
        var listeners: [(id: Int, tell: @Sendable () -> Void)] = []
        var nextListener = 0
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
    /// Work within such work has the signals for itself until it has ended.
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
            // Where it was a part of other work, that goes on, and the next signal is its first one.
            state.withLock { state in if !state.listeners.isEmpty { state.hasCome = false } }
            throw Interrupted()
        }
    }

    /// The first signal.
    private var stream: BLEStream<Void> {
        BLEStream { feed in
            let (id, hasCome) = self.state.withLock { state in
                defer { state.nextListener += 1 }
                state.listeners.append((state.nextListener, { feed.send(()) }))
                return (state.nextListener, state.hasCome)
            }
            if hasCome { feed.send(()) }
            return { self.state.withLock { $0.listeners.removeAll { $0.id == id } } }
        }
    }

    private func received() {
        let (isSecond, tell) = state.withLock { state in
            defer { state.hasCome = true }
            return (state.hasCome, state.listeners.last?.tell)
        }
        if isSecond { _exit(Interrupted.exitStatus) }
        tell?()
    }
}
