/// The order of turns; a value without I/O.
///
/// - At most ``width`` are inside at a time.
/// - More urgent entries come first, and earlier ones within one urgency; an entry that has its turn keeps it.
/// - An entry removed while waiting never gets a turn.
package struct TurnOrder {
    package typealias ID = Int

    /// How many may have a turn at the same time.
    package let width: Int

    /// The entries that have a turn, and since when; the longest one first.
    package private(set) var inside: [(id: ID, since: Duration)] = []

    /// The entries that wait, the next one first.
    package private(set) var waiting: [(id: ID, urgency: Int)] = []

    private var lastID: ID = 0

    package init(width: Int = 1) {
        precondition(width > 0, "the width must be at least 1")
        self.width = width
    }

    /// The entry that may go in now; `nil` if there is no room or nobody waits.
    package var next: ID? { inside.count < width ? waiting.first?.id : nil }

    /// Whether an entry has a turn.
    package func isInside(_ id: ID) -> Bool { inside.contains { $0.id == id } }

    /// Adds an entry behind all that are at least as urgent.
    package mutating func add(urgency: Int = 0) -> ID {
        lastID += 1
        // Most entries are no more urgent than the last one.
        var place = waiting.endIndex
        while place > 0, waiting[place - 1].urgency < urgency { place -= 1 }
        waiting.insert((lastID, urgency), at: place)
        return lastID
    }

    /// Lets the next entry in if there is room.
    package mutating func admit(now: Duration = .zero) -> ID? {
        guard let next else { return nil }
        waiting.removeFirst()
        inside.append((next, now))
        return next
    }

    /// Removes an entry that waits or is inside; does nothing if it is gone.
    package mutating func remove(_ id: ID) {
        if let place = inside.firstIndex(where: { $0.id == id }) {
            inside.remove(at: place)
        } else if let place = waiting.firstIndex(where: { $0.id == id }) {
            waiting.remove(at: place)
        }
    }
}
