@testable import BLEStreams

/// Sessions, and a controller with few slots, around a ``SlotOrder``: no link, no task, a clock that is a number. What
/// happens is drawn from a seed; who should have the next slot is known here from the refusals alone.
struct SlotWorld {
    private enum State: Equatable {
        /// It is held back, or waits to be heard until its attempt is given up.
        case held
        case trying(heard: Duration?, end: Duration)
        /// The link isn't ready, or is never established.
        case settling(end: Duration, fails: Bool)
        case linked(end: Duration)
        case pausing(end: Duration)
    }

    private struct Session {
        var state: State
        var isInRange = true
        /// When it was refused first, since it had a link or failed for another reason; and how many others have had a
        /// link since, while it was in range.
        var refused: Int?
        var passed = 0
        /// When its attempt began, and when it was last given a turn.
        var began = Duration.zero
        var turn = Duration.zero
        var hasFailed = false
    }

    private(set) var breaches: [String] = []
    private(set) var links = 0
    private(set) var mostPassed = 0
    private var order = SlotOrder()
    private var chance: Chance
    private var now = Duration.zero
    private var sessions: [Session]
    private var refusals = 0
    private let slots: Int
    /// How many of the sessions have a peripheral that comes and goes.
    private let mobile: Int

    init(sessions count: Int, slots: Int, mobile: Int = 0, seed: UInt64) {
        chance = Chance(seed: seed)
        self.slots = slots
        self.mobile = mobile
        sessions = []
        for _ in 0..<count { sessions.append(Session(state: .pausing(end: .milliseconds(chance.below(5_000))))) }
    }

    mutating func live(for duration: Duration) {
        while now < duration {
            let next = sessions.indices.compactMap { id in end(sessions[id].state).map { (id: id, at: $0) } }
                .min { $0.at < $1.at }
            guard let at = [next?.at, order.nextEnd].compactMap({ $0 }).min() else { return breach("nothing happens") }
            if at < now { return breach("it was to happen before") }
            now = at
            if order.nextEnd == at { wake(order.timePassed(now)) } else if let next { pass(next.id) }
            if let end = order.nextEnd, end <= now { return breach("a turn is not over") }
            if mobile > 0, chance.below(40) == 0 { move(chance.below(mobile)) }
        }
    }

    private func end(_ state: State) -> Duration? {
        switch state {
        case .held: nil
        case .trying(let heard, let end): min(heard ?? end, end)
        case .settling(let end, _), .linked(let end), .pausing(let end): end
        }
    }

    private mutating func breach(_ what: String) { breaches.append("\(now): \(what)") }

    private mutating func soon(_ milliseconds: Int) -> Duration { now + .milliseconds(1 + chance.below(milliseconds)) }

    private mutating func move(_ id: Int) {
        sessions[id].isInRange.toggle()
        sessions[id].passed = 0
        switch sessions[id].state {
        case .trying(_, let end):
            sessions[id].state = .trying(heard: sessions[id].isInRange ? min(soon(2_000), end) : nil, end: end)
        case .linked, .settling: sessions[id].state = .linked(end: now)
        case .held, .pausing: break
        }
    }

    /// What the session's time brings.
    private mutating func pass(_ id: Int) {
        switch sessions[id].state {
        case .held: break
        case .pausing: begin(id)
        case .trying(let heard, let end):
            if let heard, heard <= end { return isHeard(id) }
            // It isn't there, and keeps its place.
            sessions[id].state = .pausing(end: soon(30_000))
            wake(order.missed(id, at: now))
        case .settling(_, true):
            sessions[id].state = .pausing(end: now)
            wake(order.unlinked(from: UInt64(id), by: 0, at: now))
        case .settling(_, false):
            sessions[id].state = .linked(end: soon(200_000))
            (sessions[id].refused, sessions[id].passed, sessions[id].hasFailed) = (nil, 0, false)
            for other in sessions.indices where sessions[other].refused != nil && sessions[other].isInRange {
                sessions[other].passed += 1
                mostPassed = max(mostPassed, sessions[other].passed)
            }
            links += 1
            wake(order.leave(id, at: now))
        case .linked:
            // It tries again soonest.
            sessions[id].state = .pausing(end: now + .milliseconds(250))
            wake(order.unlinked(from: UInt64(id), by: 0, at: now))
        }
    }

    private mutating func begin(_ id: Int) {
        wake(order.begin(id, with: UInt64(id), on: [0], at: now))
        if order.isHeld(id) { sessions[id].state = .held } else { attempt(id) }
    }

    private mutating func attempt(_ id: Int) {
        sessions[id].began = now
        sessions[id].state = .trying(heard: sessions[id].isInRange ? soon(2_000) : nil, end: now + .seconds(30))
    }

    private mutating func isHeard(_ id: Int) {
        let taken = sessions.count { session in
            switch session.state {
            case .settling, .linked: true
            case .held, .trying, .pausing: false
            }
        }
        guard taken < slots else {
            refusals += 1
            sessions[id].refused = sessions[id].refused ?? refusals
            sessions[id].state = .pausing(end: soon(30_000))
            return wake(order.refused(id, by: [0], at: now))
        }
        if mobile == 0 { checkOrder(id) }
        let fails = !sessions[id].hasFailed && chance.below(8) == 0
        sessions[id].hasFailed = fails
        sessions[id].state = .settling(end: soon(500), fails: fails)
        order.linked(to: UInt64(id), by: 0)
    }

    /// A session gets a slot: either it is its turn, and nobody without one was refused before; or its attempt was
    /// under way when somebody else was given the turn, and that one is still waiting to be heard.
    private mutating func checkOrder(_ id: Int) {
        let others = sessions.indices.filter { $0 != id && sessions[$0].refused != nil && !isLinked($0) }
        if order.hasTurn(id) {
            // It may have got the slot of another one, whose link was never established.
            if others.contains(where: { order.hasTurn($0) }) { return }
            let own = sessions[id].refused ?? .max
            for other in others where (sessions[other].refused ?? .max) < own {
                breach("\(id) overtakes \(other)")
            }
        } else if !others.isEmpty {
            let wasFirst = others.contains { order.hasTurn($0) && sessions[$0].turn >= sessions[id].began }
            if !wasFirst { breach("\(id) has no turn") }
        }
    }

    private func isLinked(_ id: Int) -> Bool {
        switch sessions[id].state {
        case .settling, .linked: true
        case .held, .trying, .pausing: false
        }
    }

    private mutating func wake(_ ids: [Int]) {
        for id in ids {
            if order.hasTurn(id) { sessions[id].turn = now }
            switch sessions[id].state {
            case .held where !order.isHeld(id): attempt(id)
            case .pausing where order.hasTurn(id): begin(id)
            default: break
            }
        }
    }
}
