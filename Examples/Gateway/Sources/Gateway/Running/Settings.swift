import Synchronization

/// The configuration in force, and its changes.
final class Settings: Sendable {
    private struct State {
        var current: Configuration
        /// With which the gateway begins again.
        var successor: Configuration?
        var watchers: [Int: AsyncStream<Configuration>.Continuation] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    init(_ configuration: Configuration) { state = Mutex(State(current: configuration)) }

    /// The configuration in force.
    var current: Configuration { state.withLock { $0.current } }

    /// Puts another one in force.
    func set(_ configuration: Configuration) {
        let watchers = state.withLock { state in
            state.current = configuration
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.yield(configuration) }
    }

    /// The gateway ends, and begins again with another one. The present one stays in force until then.
    func end(before next: Configuration) { state.withLock { $0.successor = next } }

    /// Whether a peripheral has topics from now on: it is in the configuration, and in the next one under the same
    /// prefix.
    func keeps(_ label: String) -> Bool {
        state.withLock { state in
            let all = [state.current] + [state.successor].compactMap(\.self)
            return all.allSatisfy { one in
                one.prefix == state.current.prefix && one.peripherals.contains { $0.label == label }
            }
        }
    }

    /// The configuration in force, then each change; of several, the newest. It ends with the task that iterates it.
    var changes: AsyncStream<Configuration> {
        let (stream, continuation) = AsyncStream<Configuration>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.watchers[state.next] = continuation
            continuation.yield(state.current)
            state.next += 1
            return state.next - 1
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
        }
        return stream
    }
}
