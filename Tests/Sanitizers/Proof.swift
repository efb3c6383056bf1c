import Dispatch
import Synchronization

/// Eight threads on what a mutex guards; with the argument `race`, also on something that nothing guards.
final class Shared: Sendable {
    let guarded = Mutex<[Int: Int]>([:])
    nonisolated(unsafe) var unguarded = 0
}

let shared = Shared()
let isRacing = CommandLine.arguments.contains("race")
DispatchQueue.concurrentPerform(iterations: 8) { thread in
    for number in 0..<5000 {
        shared.guarded.withLock { $0[number % 97, default: 0] += thread }
        _ = shared.guarded.withLockIfAvailable { $0[number % 97, default: 0] -= thread }
        if isRacing { shared.unguarded += 1 }
    }
}
