internal import BLERadio
internal import Synchronization

/// What is being done with the adapter's power. While a command waits to be repeated, the kernel owes no answer, though
/// the adapter is not yet on, or off, as it is to be.
final class PowerWork: Sendable {
    private struct State {
        var count = 0
        var waiting = Observers<@Sendable () -> Void>()
    }

    private let state = Mutex(State())

    /// Something begins; the returned closure, which is called once, ends it and then passes its outcome on.
    func begin<Outcome: Sendable>(
        _ result: @escaping @Sendable (Outcome) -> Void
    ) -> @Sendable (Outcome) -> Void {
        state.withLock { $0.count += 1 }
        return { outcome in
            self.end()
            result(outcome)
        }
    }

    private func end() {
        let waiting = state.withLock { state -> [@Sendable () -> Void] in
            state.count -= 1
            return state.count == 0 ? state.waiting.removeAll() : []
        }
        for body in waiting { body() }
    }

    /// Calls the closure once nothing is under way: immediately, or on the thread that ends the last of it.
    func whenOver(_ body: @escaping @Sendable () -> Void) -> RadioActivity {
        let id: Int? = state.withLock { state in
            state.count > 0 ? state.waiting.add(body) : nil
        }
        guard let id else {
            body()
            return RadioActivity {}
        }
        return RadioActivity { [weak self] in _ = self?.state.withLock { $0.waiting.remove(id) } }
    }
}
