import BLERadio
import Synchronization

/// A wish that something end early, with the reason; may be uttered from anywhere, before it begins or while it runs.
final class Stop: Sendable {
    private struct State {
        var reason: (any Error)?
        var listeners: [Int: @Sendable (any Error) -> Void] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    /// Why, where the wish was uttered.
    var reason: (any Error)? { state.withLock { $0.reason } }

    /// Utters the wish; the first one counts.
    func stop(_ reason: any Error) {
        let listeners: [Int: @Sendable (any Error) -> Void] = state.withLock { state in
            guard state.reason == nil else { return [:] }
            state.reason = reason
            defer { state.listeners = [:] }
            return state.listeners
        }
        for (_, listener) in listeners.sorted(by: { $0.key < $1.key }) { listener(reason) }
    }

    /// Calls the closure when the wish is uttered, at once where it was; until the returned closure is called.
    func listen(_ listener: @escaping @Sendable (any Error) -> Void) -> @Sendable () -> Void {
        let (id, reason) = state.withLock { state in
            state.lastID += 1
            if state.reason == nil { state.listeners[state.lastID] = listener }
            return (state.lastID, state.reason)
        }
        if let reason { listener(reason) }
        return { _ = self.state.withLock { $0.listeners.removeValue(forKey: id) } }
    }
}

/// Runs the body as a child task, and cancels it when the time is over or somebody wishes so; returns when it has ended.
///
/// A body that succeeds all the same has succeeded.
///
/// - Throws: what the body throws; the limit's error or the stop's reason where it was ended by that.
func ending<Output: Sendable>(
    on timeline: any Timeline,
    limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
    by stop: Stop = Stop(),
    _ body: @escaping @Sendable () async throws -> Output
) async throws -> Output {
    // The body does the work of whoever called.
    let holds = LaneHolds.current.flatMap { $0.isOfThisTask ? $0 : nil }
    return try await withTaskGroup(of: EndingEvent<Output>.self) { group -> Result<Output, any Error> in
        group.addTask {
            do {
                guard let holds else { return .ended(.success(try await body())) }
                return .ended(.success(try await holds.working { try await body() }))
            } catch {
                return .ended(.failure(error))
            }
        }
        group.addTask {
            do {
                return try await reply(on: timeline, limit: limit) { finish in
                    stop.listen { finish(.success(.stopped($0))) }
                }
            } catch {
                return .stopped(error)
            }
        }
        var reason: (any Error)?
        for await event in group {
            switch event {
            case .stopped(let error):
                // That of the caller's own cancellation says nothing new.
                if !(error is CancellationError) { reason = error }
                group.cancelAll()
            case .ended(.success(let output)):
                group.cancelAll()
                return .success(output)
            case .ended(.failure(let error)):
                group.cancelAll()
                return .failure(reason ?? error)
            }
        }
        return .failure(reason ?? CancellationError())
    }.get()
}

private enum EndingEvent<Output: Sendable>: Sendable {
    case ended(Result<Output, any Error>)
    case stopped(any Error)
}

/// Lets time pass.
///
/// - Throws: `CancellationError` at once when the task is cancelled.
func pause(for duration: Duration, on timeline: any Timeline) async throws {
    try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
        let timer = timeline.schedule(after: duration) { finish(.success(())) }
        return { timer.cancel() }
    }
}
