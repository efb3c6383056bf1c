import BLERadio
import Synchronization

/// Calls the program's closures to answer centrals: the requests of each central one after the other, in a task of its
/// own, so that a slow closure delays no other central.
final class ClosureCalls: Sendable {
    /// How long a call may take: a central drops the link after 30 s without an answer.
    static let patience = Duration.seconds(20)

    /// A closure to call; `end` tells it when the central has left.
    typealias Call = @Sendable (_ end: Ending<any Error>) async -> Void

    /// The calls of one central.
    private struct Lane: Sendable {
        let calls: AsyncStream<Waiting<Call>>
        let bell: AsyncStream<Waiting<Call>>.Continuation
        let end = Ending<any Error>()
        let isEmptied = Ending<Void>()

        init() { (calls, bell) = AsyncStream.makeStream() }
    }

    private let timeline: any Timeline
    private let allowance = Allowance()
    private let lanes: AsyncStream<Lane>
    private let bell: AsyncStream<Lane>.Continuation
    private let open = Mutex<[Int: Lane]>([:])

    init(on timeline: any Timeline) {
        self.timeline = timeline
        (lanes, bell) = AsyncStream.makeStream()
    }

    /// Queues a call behind the earlier ones of the same central; returns whether there is room for it.
    func add(_ central: Int, _ call: @escaping Call) -> Bool {
        guard let place = allowance.place(for: central) else { return false }
        let (lane, isNew) = open.withLock { open in
            if let lane = open[central] { return (lane, false) }
            let lane = Lane()
            open[central] = lane
            return (lane, true)
        }
        if isNew { bell.yield(lane) }
        lane.bell.yield(Waiting(element: call, place: place))
        return true
    }

    /// Whether calls of a central wait or are being made, perhaps after it has left.
    func hasCalls(of central: Int) -> Bool { allowance.holds(central) }

    /// The central has left: calls that it waits for are cancelled. Writes without response still run to their end or
    /// limit.
    func end(_ central: Int) {
        guard let lane = open.withLock({ $0.removeValue(forKey: central) }) else { return }
        lane.bell.finish()
        lane.end.end(CancellationError())
    }

    /// Makes the calls until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await lane in lanes {
                group.addTask { [timeline] in await Self.work(lane, timeline) }
            }
            group.cancelAll()
        }
        // Nothing makes later calls: they are not kept.
        bell.finish()
    }

    private static func work(_ lane: Lane, _ timeline: any Timeline) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await call in lane.calls {
                    await call.element(lane.end)
                    // Its place is free only now that it has told all that it tells.
                    withExtendedLifetime(call.place) {}
                }
                lane.isEmptied.end()
            }
            let limit = (duration: patience, error: { @Sendable () -> any Error in CancellationError() })
            try? await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
                lane.end.whenEnded { _ in finish(.success(())) }
            }
            try? await reply(on: timeline, limit: limit) {
                (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
                lane.isEmptied.whenEnded { finish(.success(())) }
            }
            group.cancelAll()
        }
    }
}
