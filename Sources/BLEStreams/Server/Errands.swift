import Synchronization

/// Calls to the program that the radio's thread leaves to a task, since they may block; made one after the other.
final class Errands: Sendable {
    private let waiting = Mutex<[@Sendable () -> Void]>([])
    private let bells: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    init() { (bells, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    /// Leaves an errand; never waits.
    func leave(_ errand: @escaping @Sendable () -> Void) {
        waiting.withLock { $0.append(errand) }
        bell.yield()
    }

    /// Runs all errands, present and future, until the task is cancelled.
    func run() async {
        doAll()
        for await _ in bells { doAll() }
    }

    /// Runs the errands that are present.
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
