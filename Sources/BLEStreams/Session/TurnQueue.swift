import BLERadio
import Synchronization

/// Lets one at a time, in the order in which they came.
final class TurnQueue: Sendable {
    private struct State {
        var current: Int?
        var waiting: [(id: Int, grant: @Sendable () -> Void)] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// Waits for its turn, and runs the closure in it.
    ///
    /// - Throws: `CancellationError` while it waits; what the closure throws.
    func run<Output>(on timeline: any Timeline, _ body: () async throws -> Output) async throws -> Output {
        let leave = try await enter(on: timeline)
        defer { leave() }
        return try await body()
    }

    /// Waits for its turn; what is returned ends it.
    ///
    /// - Throws: `CancellationError` while it waits.
    func enter(on timeline: any Timeline) async throws -> @Sendable () -> Void {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        do {
            try await reply(on: timeline) { finish in
                self.lineUp(id) { finish(.success(())) }
                return {}
            }
        } catch {
            leave(id)
            throw error
        }
        return { self.leave(id) }
    }

    private func lineUp(_ id: Int, _ grant: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            guard state.current != nil else {
                state.current = id
                return true
            }
            state.waiting.append((id, grant))
            return false
        }
        if isFree { grant() }
    }

    private func leave(_ id: Int) {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.current == id else {
                state.waiting.removeAll { $0.id == id }
                return nil
            }
            guard !state.waiting.isEmpty else {
                state.current = nil
                return nil
            }
            let next = state.waiting.removeFirst()
            state.current = next.id
            return next.grant
        }
        next?()
    }
}
