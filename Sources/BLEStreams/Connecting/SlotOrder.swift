/// Which of the sessions that were refused for want of a connection slot gets the next one; a value without I/O or
/// clock: callers pass the time.
///
/// ```
///            refused               a link of this adapter has ended           linked
///   (none) ──────────► (in line) ─────────────────────────────────► (turn) ─────────► (none)
///                       ▲     ▲           refused again                │
///                       │     └────────────────────────────────────────┤
///                       └── refused ── (passed over) ◄── without a link ┘
///                                            ▲
///                        (in line) ── missed ┘
/// ```
/// No controller says how many slots it has, or when one is free; and the links of other programs take some, too. All
/// that is known is that a link of this central has ended. So the first in line has a turn then: it tries at once, and
/// other sessions don't begin to try on that adapter, above all not the one that has just lost the link. Beside that,
/// each tries again after the pauses of its plan.
///
/// - A place counts from the first refusal. It ends with the link, with a failure for another reason, or when the
///   session gives up. One that isn't heard keeps it, and is passed over.
/// - A turn ends after ``turn``, if it has led to no link, and the next in line has one. Whoever has had it for nothing
///   is passed over until it is refused again: only a peripheral that is heard is refused.
/// - A link that is never established is made again within the turn, after at most ``pause``.
/// - A refusal during a turn costs the turn, and not the place. Mostly somebody else has taken the slot; the next in line
///   tries nevertheless, in case the first is refused for a reason of its own.
struct SlotOrder: Equatable {
    /// A session.
    typealias ID = Int
    typealias AdapterID = AdapterChooser.AdapterID

    /// A session in the line.
    private struct Place: Equatable {
        let id: ID
        /// Those that have refused it.
        var adapters: Set<AdapterID>
        var isPassedOver = false
        /// Whether the radio has made a link in the present attempt.
        var hadLink = false
    }

    private struct Turn: Equatable {
        let id: ID
        /// The octets of the peripheral's address.
        var peer: UInt64
        let adapter: AdapterID
        let end: Duration
        /// Whether the radio has made the link, which isn't ready yet.
        var isLinked = false
        /// Whether the one before was refused.
        var isSecond = false
    }

    /// A session that is to begin its attempt after the turns of others.
    private struct Held: Equatable {
        let id: ID
        let adapters: Set<AdapterID>
        let end: Duration
    }

    /// How long a turn lasts, and how long others are held back at most: all advertisers are heard within that.
    static let turn = Duration.seconds(10)
    /// The longest pause before an attempt of a session that still has a turn.
    static let pause = Duration.seconds(1)

    /// Who has waited longest comes first.
    private var line: [Place] = []
    private var turns: [Turn] = []
    private var held: [Held] = []
    /// The octets of the address of each session's peripheral.
    private var peers: [ID: UInt64] = [:]

    // MARK: - Queries

    /// Whether a session has a turn.
    func hasTurn(_ id: ID) -> Bool { turns.contains { $0.id == id } }

    /// Whether a session is to wait before it tries.
    func isHeld(_ id: ID) -> Bool { held.contains { $0.id == id } }

    /// Whether a session gets the next slot of one of these adapters.
    func isAwaited(on adapters: Set<AdapterID>) -> Bool {
        line.contains { !$0.isPassedOver && !$0.adapters.isDisjoint(with: adapters) }
    }

    /// When to look at the turns next; `nil`: there is none.
    var nextEnd: Duration? { (turns.map(\.end) + held.map(\.end)).min() }

    /// Whether nobody is known.
    var isEmpty: Bool { peers.isEmpty && line.isEmpty && turns.isEmpty && held.isEmpty }

    private func isHeldBack(_ id: ID, _ adapters: Set<AdapterID>) -> Bool {
        !hasTurn(id) && turns.contains { adapters.contains($0.adapter) }
    }

    // MARK: - Sessions. Each call returns those for whom something has changed.

    /// A session is about to try; it is held back if the slot that it could get is another one's.
    ///
    /// - Parameter adapters: those that may have a slot for it, as far as is known.
    mutating func begin(_ id: ID, with peer: UInt64, on adapters: Set<AdapterID>, at now: Duration) -> [ID] {
        peers[id] = peer
        held.removeAll { $0.id == id }
        if let index = turns.firstIndex(where: { $0.id == id }) { turns[index].peer = peer }
        if let index = line.firstIndex(where: { $0.id == id }) { line[index].hadLink = false }
        if isHeldBack(id, adapters) { held.append(Held(id: id, adapters: adapters, end: now + Self.turn)) }
        return []
    }

    /// These adapters had no slot for it.
    mutating func refused(_ id: ID, by adapters: Set<AdapterID>, at now: Duration) -> [ID] {
        let former = turns.first { $0.id == id }
        turns.removeAll { $0.id == id }
        if let index = line.firstIndex(where: { $0.id == id }) {
            line[index] = Place(id: id, adapters: adapters)
        } else {
            line.append(Place(id: id, adapters: adapters))
        }
        guard let former, !former.isSecond else { return letGo() }
        return free(former.adapter, at: now, behind: id) + letGo()
    }

    /// The time for an attempt has expired. Unless that has made a link, the peripheral wasn't heard.
    mutating func missed(_ id: ID, at now: Duration) -> [ID] {
        guard let index = line.firstIndex(where: { $0.id == id && !$0.hadLink }) else { return leave(id, at: now) }
        line[index].isPassedOver = true
        guard let turn = turns.firstIndex(where: { $0.id == id }) else { return [] }
        return end(turns.remove(at: turn), at: now) + letGo()
    }

    /// A session needs no slot: it has a link, or failed for another reason, or gives up.
    mutating func leave(_ id: ID, at now: Duration) -> [ID] {
        peers[id] = nil
        line.removeAll { $0.id == id }
        held.removeAll { $0.id == id }
        guard let index = turns.firstIndex(where: { $0.id == id }) else { return [] }
        return end(turns.remove(at: index), at: now) + letGo()
    }

    // MARK: - Links

    /// The radio has made a link to a peripheral, whoever wants it.
    mutating func linked(to peer: UInt64, by adapter: AdapterID) {
        if let index = turns.firstIndex(where: { $0.peer == peer && $0.adapter == adapter }) {
            turns[index].isLinked = true
        }
        for index in line.indices where peers[line[index].id] == peer { line[index].hadLink = true }
    }

    /// A link to a peripheral has ended, and its slot is free.
    mutating func unlinked(from peer: UInt64, by adapter: AdapterID, at now: Duration) -> [ID] {
        if let index = turns.firstIndex(where: { $0.peer == peer && $0.adapter == adapter && $0.isLinked }) {
            // It was never ready. The slot is still the same one's.
            turns[index].isLinked = false
            return []
        }
        return free(adapter, at: now)
    }

    // MARK: - Time

    /// Ends what has lasted long enough.
    mutating func timePassed(_ now: Duration) -> [ID] {
        let over = turns.filter { $0.end <= now }
        turns.removeAll { $0.end <= now }
        for turn in over {
            if let index = line.firstIndex(where: { $0.id == turn.id }) { line[index].isPassedOver = true }
        }
        let next = over.flatMap { end($0, at: now) }
        return next + letGo { $0.end <= now }
    }

    // MARK: -

    /// Passes the slot of a turn on, unless it is in use.
    private mutating func end(_ turn: Turn, at now: Duration) -> [ID] {
        turn.isLinked ? [] : free(turn.adapter, at: now)
    }

    /// Gives a free slot to the first that can use it.
    ///
    /// - Parameter refused: who was just refused on its turn; `nil`: nobody.
    private mutating func free(_ adapter: AdapterID, at now: Duration, behind refused: ID? = nil) -> [ID] {
        let next = line.first { place in
            !place.isPassedOver && place.adapters.contains(adapter) && place.id != refused && !hasTurn(place.id)
        }
        guard let next, let peer = peers[next.id] else { return [] }
        let isSecond = refused != nil
        turns.append(Turn(id: next.id, peer: peer, adapter: adapter, end: now + Self.turn, isSecond: isSecond))
        held.removeAll { $0.id == next.id }
        return [next.id]
    }

    /// Lets those begin who need no longer be held back.
    private mutating func letGo(_ isOver: (Held) -> Bool = { _ in false }) -> [ID] {
        let free = held.filter { isOver($0) || !isHeldBack($0.id, $0.adapters) }.map(\.id)
        held.removeAll { free.contains($0.id) }
        return free
    }
}
