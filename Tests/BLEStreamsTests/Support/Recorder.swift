import Synchronization

/// Keeps what is told to it, from anywhere.
final class Recorder<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func add(_ value: Value) { values.withLock { $0.append(value) } }

    /// Lets all go, for values that have the recorder themselves.
    func forget() {
        let old = values.withLock { values in
            defer { values = [] }
            return values
        }
        // Released outside the lock.
        withExtendedLifetime(old) {}
    }
}
