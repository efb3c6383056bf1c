/// Runs one job for each of a changing set of values: a job whose value leaves the set is cancelled.
///
/// - Parameters:
///   - sets: the set, then each change. When it ends, or the task is cancelled, all jobs end.
///   - job: the job for a value.
func runEach<Value: Hashable & Sendable>(
    _ sets: some AsyncSequence<[Value], Never> & Sendable,
    _ job: @escaping @Sendable (Value) async -> Void
) async {
    await withDiscardingTaskGroup { group in
        var stops: [Value: AsyncStream<Void>.Continuation] = [:]
        for await set in sets {
            for (value, stop) in stops where !set.contains(value) {
                stop.finish()
                stops[value] = nil
            }
            for value in set where stops[value] == nil {
                let (stream, stop) = AsyncStream<Void>.makeStream()
                stops[value] = stop
                group.addTask { await run(until: stream) { await job(value) } }
            }
        }
        group.cancelAll()
    }
}

/// Runs a job until a stream ends; the job is then cancelled, and has ended when this returns.
private func run(until end: AsyncStream<Void>, _ job: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await job() }
        group.addTask { for await _ in end {} }
        await group.next()
        group.cancelAll()
    }
}
