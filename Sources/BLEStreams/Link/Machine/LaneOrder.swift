/// Who may use a link, and who waits for it; a value without I/O.
///
/// Operations share the link; a hold has it alone. First come, first served: an operation that comes behind a waiting
/// hold waits too, so that operations without end don't keep a command from its turn. What the holder itself does
/// passes at once. A hold is over when its holder has said so and everything that it began is done.
///
/// ```
/// shared (any number of operations) ─► held ─► draining ─► shared …
///                                              the holder has left; what it began is still under way
/// ```
struct LaneOrder {
    typealias ID = UInt64

    private enum Kind { case operation, hold }

    /// Those that wait, the first one first.
    private var waiting: [(id: ID, kind: Kind)] = []

    /// Operations under way, of the holder or of anybody while nobody holds; the oldest first, and few.
    private var operations: [ID] = []

    /// Operations under way that are over as soon as they have begun, and so need no number.
    private var instants = 0

    /// Who has the link alone.
    private var holder: ID?

    /// Whether the holder has left.
    private var isDraining = false

    /// Whether the link is over: everybody passes, and learns it from the link.
    private var isOpen = false

    private var lastID: ID = 0

    /// Whether anybody waits, or a hold does for the end of what its holder began.
    var isWaitedFor: Bool { !waiting.isEmpty || isDraining }

    /// Whether a hold still has the link.
    func isHeld(by id: ID?) -> Bool { id != nil && holder == id }

    /// Asks to begin an operation; `isGranted` tells whether it may begin at once.
    ///
    /// - Parameter pass: the hold in whose name it is asked; one that is over counts as none.
    mutating func beginOperation(pass: ID?) -> (id: ID, isGranted: Bool) {
        let id = makeID()
        if isOpen { return (id, true) }
        guard passes(pass) else {
            waiting.append((id, .operation))
            return (id, false)
        }
        operations.append(id)
        return (id, true)
    }

    /// Begins an operation that is over at once, where it need not wait; whether it was begun.
    mutating func beginInstant(pass: ID?) -> Bool {
        guard passes(pass) else { return false }
        instants += 1
        return true
    }

    /// An operation that was begun with ``beginInstant(pass:)`` is over; who may begin now.
    mutating func endInstant() -> [ID] {
        instants -= 1
        return admit()
    }

    /// Whether an operation could begin at once.
    func passes(_ pass: ID?) -> Bool { isOpen || isHeld(by: pass) || (holder == nil && waiting.isEmpty) }

    /// Asks to have the link alone; `isGranted` tells whether it is so at once.
    mutating func beginHold() -> (id: ID, isGranted: Bool) {
        let id = makeID()
        if isOpen { return (id, true) }
        guard holder == nil, waiting.isEmpty, isQuiet else {
            waiting.append((id, .hold))
            return (id, false)
        }
        holder = id
        isDraining = false
        return (id, true)
    }

    /// An operation or a hold is over, or is not wanted any more; who may begin now. Again it does nothing.
    mutating func end(_ id: ID) -> [ID] {
        if holder == id {
            isDraining = true
        } else if let index = operations.firstIndex(of: id) {
            operations.remove(at: index)
        } else {
            guard let index = waiting.firstIndex(where: { $0.id == id }) else { return [] }
            waiting.remove(at: index)
        }
        return admit()
    }

    /// The link is over: all who wait may begin.
    mutating func open() -> [ID] {
        isOpen = true
        holder = nil
        operations = []
        defer { waiting = [] }
        return waiting.map(\.id)
    }

    /// Whether no operation is under way.
    private var isQuiet: Bool { operations.isEmpty && instants == 0 }

    private mutating func admit() -> [ID] {
        if isDraining, isQuiet {
            holder = nil
            isDraining = false
        }
        guard holder == nil, !waiting.isEmpty else { return [] }
        var count = 0
        while count < waiting.count, waiting[count].kind == .operation {
            operations.append(waiting[count].id)
            count += 1
        }
        var granted = waiting.prefix(count).map(\.id)
        if isQuiet, let first = waiting.first, first.kind == .hold {
            holder = first.id
            count = 1
            granted = [first.id]
        }
        waiting.removeFirst(count)
        return granted
    }

    private mutating func makeID() -> ID {
        lastID += 1
        return lastID
    }
}
