/// Runs one job for each of a changing set of values: a job whose value leaves the set is cancelled, and has ended
/// before the jobs of new values begin.
///
/// - Parameters:
///   - sets: the set, then each change. When it ends, or the task is cancelled, all jobs end.
///   - job: the job for a value.
func runEach<Value: Hashable & Sendable>(
    _ sets: some AsyncSequence<[Value], Never> & Sendable,
    _ job: @escaping @Sendable (Value) async -> Void
) async {
    await withDiscardingTaskGroup { group in
        var running: [Value: (stop: AsyncStream<Void>.Continuation, end: AsyncStream<Void>)] = [:]
        for await set in sets {
            let leaving = running.filter { !set.contains($0.key) }
            for (value, job) in leaving {
                job.stop.finish()
                running[value] = nil
            }
            for job in leaving.values { for await _ in job.end {} }
            for value in set where running[value] == nil {
                let (stopping, stop) = AsyncStream<Void>.makeStream()
                let (end, ended) = AsyncStream<Void>.makeStream()
                running[value] = (stop, end)
                group.addTask {
                    await run(until: stopping) { await job(value) }
                    ended.finish()
                }
            }
        }
        group.cancelAll()
    }
}

/// Runs a job until a stream ends; the job is then cancelled, and has ended when this returns.
func run(until end: AsyncStream<Void>, _ job: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await job() }
        group.addTask { for await _ in end {} }
        await group.next()
        group.cancelAll()
    }
}
