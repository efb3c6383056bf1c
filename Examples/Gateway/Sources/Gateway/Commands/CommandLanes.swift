/// Which commands run, and which wait: in one queue, a peripheral that is absent, or takes an image, would hold up all
/// others.
///
/// The commands of one peripheral run one at a time, in the order in which they came. An update has a lane of its own,
/// since it takes long: a command to connect passes it, one to read or write waits for the link no longer than its own
/// time, and another update doesn't wait for it.
struct CommandLanes<Item> {
    /// The commands that wait for one another.
    struct Lane: Hashable, Sendable {
        let peripheral: String
        let isOfUpdates: Bool

        fileprivate var room: Int { isOfUpdates ? 0 : CommandLanes.maximumInLane }
    }

    enum Admission: Hashable, Sendable {
        case runs
        case waits
        /// No more may wait.
        case isRefused
    }

    /// The most that wait in one lane, and in all: a command has up to 8192 octets.
    static var maximumInLane: Int { 256 }
    static var maximum: Int { 1024 }

    /// What waits behind the one that runs, for each lane that has one.
    private var lanes: [Lane: [Item]] = [:]
    private var waiting = 0

    /// How many lanes have something to do.
    var count: Int { lanes.count }

    /// Takes a command, which the caller carries out if it `runs`.
    mutating func admit(_ item: Item, to lane: Lane) -> Admission {
        guard let inLane = lanes[lane]?.count else {
            lanes[lane] = []
            return .runs
        }
        guard inLane < lane.room, waiting < Self.maximum else { return .isRefused }
        lanes[lane]?.append(item)
        waiting += 1
        return .waits
    }

    /// Takes note that the command of a lane has ended; returns the next one, which runs in its place.
    mutating func next(in lane: Lane) -> Item? {
        guard lanes[lane]?.isEmpty == false else {
            lanes[lane] = nil
            return nil
        }
        waiting -= 1
        return lanes[lane]?.removeFirst()
    }
}
