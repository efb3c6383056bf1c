import BLERadio

/// Runs the body as a child task, and cancels it when the time is over or somebody wishes so; returns when it has ended.
///
/// A body that succeeds all the same has succeeded.
///
/// - Throws: what the body throws; the limit's error or the wish's reason where it was ended by that.
func ending<Output: Sendable>(
    on timeline: any Timeline,
    limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
    by wish: Ending<any Error> = Ending(),
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
                    wish.whenEnded { finish(.success(.stopped($0))) }
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
package func pause(for duration: Duration, on timeline: any Timeline) async throws {
    try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
        let timer = timeline.schedule(after: duration) { finish(.success(())) }
        return { timer.cancel() }
    }
}
