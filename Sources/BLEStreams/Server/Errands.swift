import Synchronization

/// What the radio's thread leaves to be done elsewhere, since it may block: words for the program.
/// Done one after the other.
final class Errands: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let bells: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    init() { (bells, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    /// Leaves something to be done; never waits.
    func leave(_ errand: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.append(errand) }
        bell.yield()
    }

    /// Does what there is, and what comes, until the task is cancelled.
    func run() async {
        doAll()
        for await _ in bells { doAll() }
    }

    /// Does what there is.
    func doAll() {
        while true {
            let errands = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            guard !errands.isEmpty else { return }
            for errand in errands { errand() }
        }
    }
}
