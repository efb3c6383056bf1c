@preconcurrency import Dispatch
import Glibc

/// Handles SIGINT, SIGTERM and SIGHUP as events, for as long as this exists.
///
/// A signal that was ignored when the program started stays ignored.
final class Signals {
    private let sources: [any DispatchSourceSignal]

    init(_ handle: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "signals")
        let numbers = [SIGINT, SIGTERM, SIGHUP].filter { !Self.isIgnored($0) }
        // Blocked for this thread and all threads that it starts, so that only the sources receive them.
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        sources = numbers.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        for (number, source) in zip(numbers, sources) {
            source.setEventHandler { handle(number) }
            source.activate()
        }
    }

    /// Whether the signal was ignored when the program started.
    ///
    /// `nohup` has SIGHUP ignored, `trap ''` in a shell has any signal ignored, and a shell without job control has
    /// SIGINT ignored by the programs that it runs in the background.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    deinit { for source in sources { source.cancel() } }
}
