internal import CLibrary
internal import Synchronization

/// Notes that a fault has struck.
final class StrikeMark: Sendable {
    private let mark = Mutex(false)

    var hasStruck: Bool { mark.withLock { $0 } }

    func strike() { mark.withLock { $0 = true } }
}

/// Runs of one body that differ in their seeds and in where a fault strikes; as many at once as there are cores.
struct Exploration: Sendable {
    /// One of several faults, and how many occasions pass before it strikes.
    struct Place: Sendable {
        let fault: Int
        var step: Int
    }

    typealias Start = (seed: UInt64, place: Place?)
    typealias Body = @Sendable (VirtualTime, Place?, StrikeMark) async throws -> Void

    private var runs = 0
    private var failures = 0
    private var shortest: ExplorationError?

    /// Runs each start; a start with a fault runs once for each of the fault's steps.
    static func run(_ starts: [Start], _ order: JobOrder, _ limit: Duration, _ body: @escaping Body) async throws
        -> Self
    {
        try await withThrowingTaskGroup(of: Exploration.self) { group in
            var (whole, waiting) = (Exploration(), starts[...])
            for _ in 0..<max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
                guard let start = waiting.popFirst() else { break }
                group.addTask { try await follow(start, order, limit, body) }
            }
            while let part = try await group.next() {
                whole.add(part)
                guard let start = waiting.popFirst() else { continue }
                group.addTask { try await follow(start, order, limit, body) }
            }
            return whole
        }
    }

    /// Runs from one start on, until no step is left at which the fault strikes.
    private static func follow(
        _ start: Start,
        _ order: JobOrder,
        _ limit: Duration,
        _ body: @escaping Body
    ) async throws -> Self {
        var (part, place) = (Exploration(), start.place)
        while true {
            try Task.checkCancellation()
            let mark = StrikeMark()
            part.runs += 1
            let failure = await failure(Start(start.seed, place), order, limit, mark, body)
            // One that was cancelled from outside has not failed.
            try Task.checkCancellation()
            if let failure { part.add(failure) }
            guard let last = place, mark.hasStruck else { return part }
            place = Place(fault: last.fault, step: last.step + 1)
        }
    }

    /// How a run fails; `nil` if it succeeds.
    private static func failure(
        _ start: Start,
        _ order: JobOrder,
        _ limit: Duration,
        _ mark: StrikeMark,
        _ body: @escaping Body
    ) async -> ExplorationError? {
        let elapsed = Mutex(Duration.zero)
        do {
            try await VirtualTime.run(seed: start.seed, order: order, limit: limit) { time in
                defer { elapsed.withLock { $0 = time.now } }
                try await body(time, start.place, mark)
            }
            return nil
        } catch {
            return ExplorationError(
                seed: start.seed,
                fault: start.place?.fault,
                step: mark.hasStruck ? start.place?.step : nil,
                elapsed: elapsed.withLock { $0 },
                underlying: error
            )
        }
    }

    private mutating func add(_ other: Exploration) {
        runs += other.runs
        failures += other.failures
        other.shortest.map { keep($0) }
    }

    private mutating func add(_ failure: ExplorationError) {
        failures += 1
        keep(failure)
    }

    private mutating func keep(_ failure: ExplorationError) {
        if let shortest, (shortest.elapsed, shortest.seed) <= (failure.elapsed, failure.seed) { return }
        shortest = failure
    }

    /// The number of runs.
    func conclude() throws(ExplorationError) -> Int {
        guard var shortest else { return runs }
        (shortest.failures, shortest.runs) = (failures, runs)
        throw shortest
    }
}
