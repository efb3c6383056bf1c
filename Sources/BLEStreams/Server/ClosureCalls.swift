import BLEProtocol
import BLERadio
import Synchronization

/// Calls the program's closures to answer centrals: the requests of each central one after the other, in a task of its
/// own, so that a slow closure delays no other central.
///
/// A central that returns is the same one: what it sends on its new link waits for what it has sent on the former one.
/// An older value would otherwise replace a newer one.
final class ClosureCalls: Sendable {
    /// How long a call may take: a central drops the link after 30 s without an answer.
    static let patience = Duration.seconds(20)

    /// A closure to call; `end` tells it when the central has left.
    typealias Call = @Sendable (_ end: Ending<any Error>) async -> Void

    /// A call that waits for its turn.
    private struct Queued: Sendable {
        let call: Call
        /// Whether nobody waits for its outcome: a write without response.
        let isUnasked: Bool
    }

    /// The calls of one central on one link.
    private struct Lane: Sendable {
        let central: Int
        /// End when the calls are over that it had on former links.
        let former: [Ending<Void>]
        let calls: AsyncStream<Waiting<Queued>>
        let bell: AsyncStream<Waiting<Queued>>.Continuation
        let end = Ending<any Error>()
        let isEmptied = Ending<Void>()

        init(_ central: Int, after former: [Ending<Void>]) {
            self.central = central
            self.former = former
            (calls, bell) = AsyncStream.makeStream()
        }
    }

    /// A lane that takes calls.
    private struct OpenLane {
        let lane: Lane
        /// Who the central is, on this link and on others; `nil`: not known.
        let identity: BluetoothAddress?
        /// How many of its calls wait or are being made.
        var unfinished = 0
        /// How many of those are of writes without response.
        var unasked = 0
        /// Ends when none is; `nil`: nobody waits for that.
        var isIdle: Ending<Void>?
        /// Whether its central has left. A later call still follows the earlier ones; with the last one, it is closed.
        var hasLeft: Bool
    }

    private struct State {
        var lanes: [Int: OpenLane] = [:]
        /// Whether nothing makes calls any more.
        var isOver = false

        /// What ends when the calls of a central on its former links are over.
        mutating func endings(of identity: BluetoothAddress?) -> [Ending<Void>] {
            guard identity != nil else { return [] }
            return lanes.filter { $0.value.identity == identity && $0.value.unfinished > 0 }.keys.map { central in
                let ending = lanes[central]?.isIdle ?? Ending()
                lanes[central]?.isIdle = ending
                return ending
            }
        }
    }

    private let timeline: any Timeline
    /// Takes note of a central that has left, and of how many of its writes without response are lost.
    private let lose: @Sendable (BluetoothAddress, Int) -> Void
    private let allowance = Allowance()
    private let lanes: AsyncStream<Lane>
    private let bell: AsyncStream<Lane>.Continuation
    private let state = Mutex(State())

    init(on timeline: any Timeline, lose: @escaping @Sendable (BluetoothAddress, Int) -> Void = { _, _ in }) {
        self.timeline = timeline
        self.lose = lose
        (lanes, bell) = AsyncStream.makeStream()
    }

    /// Queues a call behind the earlier ones of the same central; returns whether there is room for it.
    ///
    /// - Parameters:
    ///   - identity: who the central is, on this link and on others; `nil`: not known.
    ///   - hasLeft: whether the central has left; true before ``end(_:)`` is called for it. What it sent last may come
    ///     here at the same time as the news that it has left, or after that.
    ///   - isUnasked: whether it is for a write without response.
    func add(
        _ central: Int,
        of identity: BluetoothAddress? = nil,
        isUnasked: Bool = false,
        hasLeft: @autoclosure () -> Bool,
        _ call: @escaping Call
    ) -> Bool {
        guard let place = allowance.place(for: central) else { return false }
        let (lane, isNew, isLate) = state.withLock { state in
            if let open = state.lanes[central] {
                state.lanes[central]?.unfinished += 1
                if isUnasked { state.lanes[central]?.unasked += 1 }
                return (open.lane, false, false)
            }
            // Asked under the lock: if it has not left yet, its end comes later, and finds the lane.
            let (lane, isLate) = (Lane(central, after: state.endings(of: identity)), hasLeft())
            // Nothing would close it, or make its calls.
            if !isLate || !state.isOver {
                var open = OpenLane(lane: lane, identity: identity, unfinished: 1, hasLeft: isLate)
                open.unasked = isUnasked ? 1 : 0
                state.lanes[central] = open
            }
            return (lane, true, isLate)
        }
        if isLate { lane.end.end(CancellationError()) }
        if isNew { bell.yield(lane) }
        lane.bell.yield(Waiting(element: Queued(call: call, isUnasked: isUnasked), place: place))
        return true
    }

    /// Whether calls of a central wait or are being made, perhaps after it has left.
    func hasCalls(of central: Int) -> Bool { allowance.holds(central) }

    /// The central has left: calls that it waits for are cancelled. Writes without response still run to their end or
    /// limit.
    func end(_ central: Int) {
        let found = state.withLock { state -> (lane: Lane, isClosed: Bool)? in
            guard let open = state.lanes[central] else { return nil }
            let isClosed = open.unfinished == 0 || state.isOver
            if isClosed { state.lanes[central] = nil } else { state.lanes[central]?.hasLeft = true }
            return (open.lane, isClosed)
        }
        guard let found else { return }
        if found.isClosed { found.lane.bell.finish() }
        found.lane.end.end(CancellationError())
    }

    /// A call has been made: if it was the last one of a central that has left, its lane is closed.
    private func finished(_ call: Queued, in lane: Lane) {
        let (isClosed, isIdle) = state.withLock { state -> (Bool, Ending<Void>?) in
            guard var open = state.lanes[lane.central], open.lane.end === lane.end else { return (false, nil) }
            open.unfinished -= 1
            if call.isUnasked { open.unasked -= 1 }
            let isIdle = open.unfinished == 0 ? open.isIdle.take() : nil
            let isClosed = open.hasLeft && open.unfinished == 0
            state.lanes[lane.central] = isClosed ? nil : open
            return (isClosed, isIdle)
        }
        if isClosed { lane.bell.finish() }
        isIdle?.end()
    }

    /// Takes no more calls in a lane, whose calls have ended or taken too long: what was written without response and
    /// is not through is lost. Returns what is to end once they are over.
    private func close(_ lane: Lane) -> Ending<Void>? {
        let open = state.withLock { state -> OpenLane? in
            guard state.lanes[lane.central]?.lane.end === lane.end else { return nil }
            return state.lanes.removeValue(forKey: lane.central)
        }
        lane.bell.finish()
        if let open, let identity = open.identity, open.unasked > 0, !Task.isCancelled { lose(identity, open.unasked) }
        return open?.isIdle
    }

    /// Makes the calls until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await lane in lanes {
                group.addTask { await self.work(lane) }
            }
            group.cancelAll()
        }
        // Nothing makes later calls: they are not kept.
        bell.finish()
        state.withLock { state in
            state.isOver = true
            state.lanes = state.lanes.filter { !$0.value.hasLeft }
        }
    }

    private func work(_ lane: Lane) async {
        let isIdle = await withDiscardingTaskGroup { group in
            group.addTask {
                for former in lane.former { await self.wait(for: former) }
                for await call in lane.calls {
                    await call.element.call(lane.end)
                    // Its place is free only now that it has told all that it tells.
                    withExtendedLifetime(call.place) {}
                    self.finished(call.element, in: lane)
                }
                lane.isEmptied.end()
            }
            let limit = (duration: Self.patience, error: { @Sendable () -> any Error in CancellationError() })
            await wait(for: lane.end)
            try? await reply(on: timeline, limit: limit) {
                (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
                lane.isEmptied.whenEnded { finish(.success(())) }
            }
            defer { group.cancelAll() }
            return self.close(lane)
        }
        isIdle?.end()
    }

    private func wait<End>(for ending: Ending<End>) async {
        try? await reply(on: timeline) { (finish: @escaping @Sendable (Result<Void, any Error>) -> Void) in
            ending.whenEnded { _ in finish(.success(())) }
        }
    }
}
