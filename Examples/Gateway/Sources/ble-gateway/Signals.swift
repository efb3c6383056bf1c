@preconcurrency import Dispatch
import Glibc

/// Handles SIGINT, SIGTERM and SIGHUP as events, for as long as this exists.
///
/// A signal that was ignored when the program started stays ignored. Each is handled by itself: one whose handling
/// waits, as for a disk that doesn't answer, keeps no other one from being handled.
final class Signals {
    private let sources: [any DispatchSourceSignal]

    init(_ handle: @escaping @Sendable (Int32) -> Void) {
        let numbers = [SIGINT, SIGTERM, SIGHUP].filter { !IgnoredSignals.contains($0) }
        // Blocked for this thread and all threads that it starts, so that only the sources receive them.
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        sources = numbers.map { number in
            DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "signal \(number)"))
        }
        for (number, source) in zip(numbers, sources) {
            source.setEventHandler { handle(number) }
            source.activate()
        }
    }

    deinit { for source in sources { source.cancel() } }
}
