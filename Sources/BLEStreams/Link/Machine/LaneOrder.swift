/// The order of access to a link; a value without I/O.
///
/// Operations share the link; a hold has it exclusively. First come, first served: an operation behind a waiting hold
/// waits too, so that a stream of operations can't starve a command. The holder's own operations pass immediately. A
/// hold ends when its holder has released it and all operations it began are done.
///
/// ```
/// shared (any number of operations) ─► held ─► draining ─► shared …
///                                              the holder has left; what it began is still under way
/// ```
struct LaneOrder {
    typealias ID = UInt64

    private enum Kind { case operation, hold }

    /// The queue.
    private var waiting: [(id: ID, kind: Kind)] = []

    /// Operations in progress, of the holder, or of anyone while there is no hold; the oldest first, and few.
    private var operations: [ID] = []

    /// Operations in progress that end as soon as they begin, and so need no number.
    private var instants = 0

    /// The hold with exclusive access.
    private var holder: ID?

    /// Whether the holder has released it.
    private var isDraining = false

    /// Whether the link has ended: everything passes, and fails at the link.
    private var isOpen = false

    private var lastID: ID = 0

    /// Whether anything waits, including a released hold for the operations its holder began.
    var isWaitedFor: Bool { !waiting.isEmpty || isDraining }

    /// Whether this hold still has the link.
    func isHeld(by id: ID?) -> Bool { id != nil && holder == id }

    /// Requests the start of an operation; `isGranted` says whether it may begin immediately.
    ///
    /// - Parameter pass: the hold that the operation belongs to; an ended one counts as none.
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

    /// Begins an operation that ends immediately, if it need not wait; returns whether it was begun.
    mutating func beginInstant(pass: ID?) -> Bool {
        guard passes(pass) else { return false }
        instants += 1
        return true
    }

    /// An operation begun with ``beginInstant(pass:)`` has ended; returns what may begin now.
    mutating func endInstant() -> [ID] {
        instants -= 1
        return admit()
    }

    /// Whether an operation could begin immediately.
    func passes(_ pass: ID?) -> Bool { isOpen || isHeld(by: pass) || (holder == nil && waiting.isEmpty) }

    /// Requests exclusive access; `isGranted` says whether it is granted immediately.
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

    /// Ends or withdraws an operation or a hold; returns what may begin now. Repeated calls have no effect.
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

    /// The link has ended: everything in the queue may begin.
    mutating func open() -> [ID] {
        isOpen = true
        holder = nil
        operations = []
        defer { waiting = [] }
        return waiting.map(\.id)
    }

    /// Whether no operation is in progress.
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
