/// Which commands run, and which wait: one peripheral after the other would let one that is absent, or takes an image,
/// hold up all others.
///
/// The commands of one peripheral run one at a time, in the order in which they came. Updates have a lane of their own,
/// since they take long: what is asked for meanwhile passes them, and a second update learns that there is one.
struct CommandLanes<Item> {
    /// The commands that wait for one another.
    struct Lane: Hashable, Sendable {
        let peripheral: String
        let isOfUpdates: Bool

        fileprivate var width: Int { isOfUpdates ? 2 : 1 }
    }

    enum Admission: Hashable, Sendable {
        case runs
        case waits
        /// Too many wait already.
        case isRefused
    }

    /// The most that wait in one lane, and in all: a command has up to 8192 octets.
    static var maximumInLane: Int { 256 }
    static var maximum: Int { 1024 }

    private struct State {
        var running = 0
        var waiting: [Item] = []
    }

    private var lanes: [Lane: State] = [:]
    private var waiting = 0

    /// How many lanes have something to do.
    var count: Int { lanes.count }

    /// Takes a command, which the caller carries out if it `runs`.
    mutating func admit(_ item: Item, to lane: Lane) -> Admission {
        let (running, inLane) = lanes[lane].map { ($0.running, $0.waiting.count) } ?? (0, 0)
        if running < lane.width {
            lanes[lane, default: State()].running += 1
            return .runs
        }
        guard inLane < Self.maximumInLane, waiting < Self.maximum else { return .isRefused }
        lanes[lane, default: State()].waiting.append(item)
        waiting += 1
        return .waits
    }

    /// Takes note that a command of a lane has ended; returns the next one, which runs in its place.
    mutating func next(in lane: Lane) -> Item? {
        guard let state = lanes[lane] else { return nil }
        guard state.waiting.isEmpty else {
            waiting -= 1
            return lanes[lane]?.waiting.removeFirst()
        }
        lanes[lane] = state.running > 1 ? State(running: state.running - 1) : nil
        return nil
    }
}
