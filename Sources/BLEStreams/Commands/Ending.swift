package import BLERadio

/// Runs the body as a child task, and cancels it when the time is over or the wish comes; returns when it has ended.
///
/// If the body succeeds nevertheless, its result counts.
///
/// - Throws: what the body throws; the limit's error or the wish's reason, if that ended it.
func ending<Output: Sendable>(
    on timeline: any Timeline,
    limit: (duration: Duration, error: @Sendable () -> any Error)? = nil,
    by wish: Ending<any Error> = Ending(),
    _ body: @escaping @Sendable () async throws -> Output
) async throws -> Output {
    // The body does the caller's work, so it counts as the same task.
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
                // Without the output's type, so that what waits is compiled for its own.
                let reason: any Error = try await reply(on: timeline, limit: limit) { finish in
                    wish.whenEnded { finish(.success($0)) }
                }
                return .stopped(reason)
            } catch {
                return .stopped(error)
            }
        }
        return await outcome(of: &group)
    }.get()
}

/// How the body has ended; cancels it if the limit or the wish comes first.
private func outcome<Output: Sendable>(
    of group: inout TaskGroup<EndingEvent<Output>>
) async -> Result<Output, any Error> {
    var reason: (any Error)?
    for await event in group {
        group.cancelAll()
        switch event {
        // The caller's own cancellation says nothing new.
        case .stopped(let error): if !(error is CancellationError) { reason = error }
        case .ended(.success(let output)): return .success(output)
        case .ended(.failure(let error)): return .failure(reason ?? error)
        }
    }
    return .failure(reason ?? CancellationError())
}

private enum EndingEvent<Output: Sendable>: Sendable {
    case ended(Result<Output, any Error>)
    case stopped(any Error)
}

/// Waits for this long.
///
/// - Throws: `CancellationError` at once when the task is cancelled.
package func pause(for duration: Duration, on timeline: any Timeline) async throws {
    try await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
        let timer = timeline.schedule(after: duration) { finish(.success(())) }
        return { timer.cancel() }
    }
}
