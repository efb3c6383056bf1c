import BLESimulator
import BLEStreams
import Synchronization

/// What came of a world.
public struct WorldOutcome: Sendable {
    public let plan: WorldPlan
    /// What isn't as it should be: of which kind, and in words.
    public var problems: [(kind: String, text: String)] = []
    /// What the world has reached: transitions, outcomes, PDUs and their fates, by themselves and with each fault.
    public var features: Set<String> = []
    /// What happened, line by line, where that was asked for.
    public var trace: [String] = []
    /// How much virtual time has passed.
    public var elapsed = Duration.zero

    public var hasFailed: Bool { !problems.isEmpty }

    /// Whether it fails in the same way as another one.
    public func failsLike(_ other: WorldOutcome) -> Bool {
        !Set(problems.map(\.kind)).isDisjoint(with: other.problems.map(\.kind))
    }
}

extension WorldPlan {
    /// Runs the world, to its end.
    ///
    /// - Parameter isTraced: whether it tells what happens.
    @concurrent
    public func run(isTraced: Bool = false) async -> WorldOutcome {
        let leftovers = Leftovers()
        var outcome = await live(isTraced, leftovers)
        // The thread that took the last step may still be about to leave.
        for _ in 0..<200 where !leftovers.names.isEmpty { try? await Task.sleep(for: .milliseconds(5)) }
        for name in leftovers.names {
            outcome.problems.append(("held", "\(name) is still held when the world is over"))
        }
        return outcome
    }

    private func live(_ isTraced: Bool, _ leftovers: Leftovers) async -> WorldOutcome {
        let outcome = Mutex(WorldOutcome(plan: self))
        let (order, plan): (JobOrder, WorldPlan) = (delays.map { .delayed(upTo: $0) } ?? .shuffled, self)
        do {
            try await VirtualTime.run(seed: seed, order: order, limit: .seconds(60_000), patience: .seconds(10)) {
                time in
                let world = try await World(plan, time, isTraced: isTraced)
                defer {
                    // Centrals have been opened meanwhile.
                    leftovers.watch(world)
                    outcome.withLock { $0.take(world) }
                }
                try await world.live()
            }
        } catch {
            outcome.withLock { $0.problems.append(("world", "\(error)")) }
        }
        return outcome.withLock { $0 }
    }
}

extension WorldOutcome {
    fileprivate mutating func take(_ world: World) {
        problems += world.findings.map { ($0.kind, $0.text) }
        features = world.features
        trace = world.lines
        elapsed = world.time.now
    }
}

/// What must be gone when a world is.
private final class Leftovers: Sendable {
    private struct Held: Sendable {
        let name: String
        weak let object: (any AnyObject & Sendable)?
    }

    private let held = Mutex<[Held]>([])

    func watch(_ world: World) {
        let all: [(String, any AnyObject & Sendable)] =
            [("the world", world), ("its air", world.air), ("its time", world.time)]
            + world.allCentrals.map { ("central \($0.number)", $0.central) }
        held.withLock { $0 = all.map { Held(name: $0, object: $1) } }
    }

    /// Those that are still there.
    var names: [String] { held.withLock { $0.filter { $0.object != nil }.map(\.name) } }
}
