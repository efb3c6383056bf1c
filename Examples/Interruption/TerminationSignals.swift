import BLEStreams
@preconcurrency import Dispatch
import Glibc
import Synchronization

/// A signal interrupted the program, which has cleaned up.
package struct Interrupted: Error {
    /// The exit status that a shell reports for a program that SIGINT has ended.
    package static let exitStatus: Int32 = 128 + SIGINT

    /// Whether all work is to end, not only the work that was interrupted: SIGTERM or SIGHUP has come.
    package let endsAll: Bool
}

/// Handles SIGINT, SIGTERM and SIGHUP (sent by Ctrl-C, `kill` and a terminal that closes) as events, for as long as
/// this exists.
///
/// The first SIGINT cancels the current work; SIGTERM and SIGHUP cancel all work. A second SIGINT or SIGTERM, while
/// that work ends, ends the program at once, unless it comes so soon that it belongs to the same event.
///
/// A signal that was ignored when the program started stays ignored.
package final class TerminationSignals: Sendable {
    private struct State {
        var history = SignalHistory()
        /// Who is notified: the last one, which is the innermost work, or all.
        var listeners: [(id: Int, tell: @Sendable () -> Void)] = []
        var nextListener = 0
    }

    /// A descriptor that is readable from the first signal on, until the work that it interrupts has ended and other
    /// work goes on: for a thread that waits for a descriptor, which no cancellation wakes.
    package static var notice: Int32 { noticePipe.reading }

    /// It has an octet while the notice is readable. The corresponding C function is `pipe`.
    private static let noticePipe = {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return (reading: ends[0], writing: ends[1])
    }()

    private let sources: [any DispatchSourceSignal]
    private let onInterrupt: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter onInterrupt: called at a SIGINT, before it cancels any work.
    package init(onInterrupt: @escaping @Sendable () -> Void = {}) {
        self.onInterrupt = onInterrupt
        let queue = DispatchQueue(label: "termination signals")
        let numbers = [SIGINT, SIGTERM, SIGHUP].filter { !IgnoredSignals.contains($0) }
        // Blocked for this thread and all threads that it starts, so that only the sources receive them.
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        sources = numbers.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        let registering = DispatchGroup()
        for (number, source) in zip(numbers, sources) {
            source.setEventHandler { [weak self] in self?.received(number) }
            registering.enter()
            source.setRegistrationHandler { registering.leave() }
            source.activate()
        }
        // Until then a signal ends the program at once, on a thread from before.
        registering.wait()
    }

    deinit { for source in sources { source.cancel() } }

    /// Does some work, and cancels it at the first signal, even one that came before.
    ///
    /// Nested work receives the signals alone until it has ended.
    ///
    /// - Returns: what the work returns.
    /// - Throws: what the work throws; ``Interrupted`` if a signal interrupted it, once it has ended.
    package func interrupt<Output: Sendable>(
        _ work: @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        try await withThrowingTaskGroup(of: Output?.self) { group in
            // Before the work, which may occupy its thread: otherwise a signal would be told to the work around it.
            group.addImmediateTask {
                _ = try await self.stream.first()
                return nil
            }
            group.addTask {
                do {
                    return try await work()
                } catch is CancellationError where self.hasCome {
                    // The notice has ended it, before the listener was told.
                    return nil
                }
            }
            let output = try await group.next() ?? nil
            group.cancelAll()
            if let output { return output }
            // The work switches off whatever it switched on, and drops its link.
            while await group.nextResult() != nil {}
            // If this was part of other work, that continues, and the next signal is its first.
            let endsAll = state.withLock { state in
                if !state.listeners.isEmpty, state.history.forget() {
                    var octets: [UInt8] = [0, 0]
                    while read(Self.noticePipe.reading, &octets, octets.count) > 0 {}
                }
                return state.history.endsAll
            }
            throw Interrupted(endsAll: endsAll)
        }
    }

    private var hasCome: Bool { state.withLock { $0.history.hasCome } }

    /// The first signal.
    private var stream: BLEStream<Void> {
        BLEStream { feed in
            let (id, hasCome) = self.state.withLock { state in
                defer { state.nextListener += 1 }
                state.listeners.append((state.nextListener, { feed.send(()) }))
                return (state.nextListener, state.history.hasCome)
            }
            if hasCome { feed.send(()) }
            return { self.state.withLock { $0.listeners.removeAll { $0.id == id } } }
        }
    }

    /// A signal has come.
    package func received(_ number: Int32) {
        let (demand, listeners) = state.withLock { state in
            let demand = state.history.received(number, at: .now)
            var octet: UInt8 = 1
            write(Self.noticePipe.writing, &octet, 1)
            return (demand, state.listeners)
        }
        if case .exit = demand { _exit(Interrupted.exitStatus) }
        if number == SIGINT { onInterrupt() }
        switch demand {
        case .endWork: listeners.last?.tell()
        case .endAllWork: for listener in listeners { listener.tell() }
        case .exit, .nothing: break
        }
    }
}
