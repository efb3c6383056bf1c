import BLEStreams
import Leases

/// Runs a job for each peripheral that this gateway holds: a job whose lease ends is cancelled at once, whatever the
/// others do, and its peripheral gets another one only when it has ended.
///
/// - Parameter job: the job; when it returns, the link must be down.
func runHeld(_ leases: LeaseDriver, _ job: @escaping @Sendable (Tenure) async -> Void) async {
    await withDiscardingTaskGroup { group in
        var stops: [Tenure: AsyncStream<Void>.Continuation] = [:]
        leases.touch()
        for await _ in leases.changes {
            let held = Set(leases.tenures)
            for (tenure, stop) in stops where !held.contains(tenure) {
                stop.finish()
                stops[tenure] = nil
            }
            for tenure in held where stops[tenure] == nil && leases.begin(tenure.id) {
                let (stopping, stop) = AsyncStream<Void>.makeStream()
                stops[tenure] = stop
                group.addTask {
                    await run(until: stopping) { await job(tenure) }
                    leases.end(tenure.id)
                }
            }
        }
        group.cancelAll()
    }
}
