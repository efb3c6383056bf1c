import BLEProtocol
import BLERadio
import Synchronization

/// The links of one central, one for each peripheral: whoever wants a link to a peripheral that has one gets that, and
/// whoever comes while one is being made waits for it with the others. It is dropped when the last one leaves.
///
/// As on the board of connection states, the octets of an address tell a peripheral from others, whatever its kind.
final class SharedLinks: Sendable {
    typealias Answer = @Sendable (Result<Link, BLEError>) -> Void

    private struct Waiter {
        let peripheral: Peripheral
        let timeout: Duration
        let deadline: Duration
        /// Whether it has another try made where a connection was never established.
        let persists: Bool
        /// The connections of the attempt that were never established when this one joined it.
        let formerFailures: Int
        let answer: Answer
        var timer: RadioActivity?

        /// Whether there is to be another attempt for it.
        func goesOn(after error: BLEError, at now: Duration) -> Bool {
            let mayPass = error.code == .timedOut || persists && error.reason?.kind == .failedToEstablish
            return mayPass && deadline > now
        }
    }

    /// An attempt.
    struct UnderWay {
        let cancel: @Sendable () -> Void
        /// The connections so far that were never established.
        let failures: @Sendable () -> Int
    }

    /// Makes an attempt within a time limit, one that persists or not.
    typealias Begin = @Sendable (Peripheral, Duration, _ persists: Bool, @escaping Answer) -> UnderWay

    /// A peripheral that has a link, or to which one is being made.
    private struct Entry {
        let number: Int
        /// In the order in which they came.
        var waiters = Observers<Waiter>()
        /// The attempt that is under way, once it has begun.
        var attempt: UnderWay?
        var link: Link?
        /// How many use the link.
        var users = 0
    }

    /// A waiter that has left, and the attempt that it waited for.
    private struct Removed {
        let waiter: Waiter
        let attempt: UnderWay?
        /// Whether nobody waits for it any more.
        let isLast: Bool

        func giveUp() {
            if isLast { attempt?.cancel() }
        }
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var nextNumber = 0

        mutating func number() -> Int {
            nextNumber += 1
            return nextNumber
        }

        /// Takes a waiter out; and the attempt, where nobody waits any more.
        mutating func remove(_ waiter: Int, _ key: UInt64) -> Removed? {
            guard let entry = entries[key], let removed = entries[key]?.waiters.remove(waiter) else { return nil }
            let isLast = entries[key]?.waiters.isEmpty == true && entry.link == nil
            if isLast { entries[key] = nil }
            return Removed(waiter: removed, attempt: entry.attempt, isLast: isLast)
        }
    }

    private let timeline: any Timeline
    private let state = Mutex(State())

    init(timeline: any Timeline) { self.timeline = timeline }

    /// The link to a peripheral that is up; `nil` where there is none.
    func link(to peripheral: Peripheral) -> Link? {
        state.withLock { state in
            guard let link = state.entries[peripheral.address.rawValue]?.link, link.bearer.end == nil else {
                return nil
            }
            return link
        }
    }

    // MARK: - Coming

    /// Waits for a link, one's own or one that others have; exactly one answer comes, at once or later, unless what is
    /// returned is called before.
    ///
    /// - Parameters:
    ///   - persists: whether an attempt goes on for this one where a connection was never established.
    ///   - begin: makes an attempt, where none is under way.
    func join(
        _ peripheral: Peripheral,
        timeout: Duration,
        persists: Bool,
        begin: @escaping Begin,
        _ answer: @escaping Answer
    ) -> @Sendable () -> Void {
        let key = peripheral.address.rawValue
        let underWay = state.withLock { $0.entries[key]?.attempt }
        let waiter = Waiter(
            peripheral: peripheral,
            timeout: timeout,
            deadline: timeline.now + timeout,
            persists: persists,
            formerFailures: underWay?.failures() ?? 0,
            answer: answer
        )
        let (link, id, attempt): (Link?, Int, Int?) = state.withLock { state in
            if let entry = state.entries[key], let link = entry.link {
                if link.bearer.end == nil {
                    state.entries[key]?.users += 1
                    return (Link(link, share: LinkShare(entry.number)), 0, nil)
                }
                // Lost, and some have yet to leave it.
                state.entries[key] = nil
            }
            let isNew = state.entries[key] == nil
            var entry = state.entries[key] ?? Entry(number: state.number())
            let id = entry.waiters.add(waiter)
            state.entries[key] = entry
            return (nil, id, isNew ? entry.number : nil)
        }
        if let link {
            answer(.success(link))
            return {}
        }
        // Who makes the attempt hears of its limit from that.
        if let attempt {
            self.begin(attempt, key, waiter, timeout, begin)
        } else {
            let timer = timeline.schedule(after: timeout) { self.timedOut(id, key) }
            let isOver = state.withLock { state in
                state.entries[key]?.waiters[id]?.timer = timer
                return state.entries[key]?.waiters[id] == nil
            }
            if isOver { timer.cancel() }
        }
        return { self.withdraw(id, key) }
    }

    private func begin(
        _ number: Int,
        _ key: UInt64,
        _ waiter: Waiter,
        _ timeout: Duration,
        _ begin: @escaping Begin
    ) {
        let attempt = begin(waiter.peripheral, timeout, waiter.persists) { outcome in
            switch outcome {
            case .success(let link): self.connected(link, number, key)
            case .failure(let error): self.failed(error, number, key, begin)
            }
        }
        let isWanted = state.withLock { state in
            guard state.entries[key]?.number == number, state.entries[key]?.link == nil else { return false }
            state.entries[key]?.attempt = attempt
            return true
        }
        // Everybody has left meanwhile; or it is over, and there is nothing to give up.
        if !isWanted { attempt.cancel() }
    }

    private func withdraw(_ id: Int, _ key: UInt64) {
        let removed = state.withLock { $0.remove(id, key) }
        removed?.waiter.timer?.cancel()
        removed?.giveUp()
    }

    private func timedOut(_ id: Int, _ key: UInt64) {
        guard let removed = state.withLock({ $0.remove(id, key) }) else { return }
        let waiter = removed.waiter
        let failures = (removed.attempt?.failures() ?? 0) - waiter.formerFailures
        removed.giveUp()
        waiter.answer(
            .failure(.connectTimedOut(waiter.peripheral, after: waiter.timeout, failures: max(0, failures)))
        )
    }

    // MARK: - The attempt

    private func connected(_ link: Link, _ number: Int, _ key: UInt64) {
        let waiters = state.withLock { state -> [(waiter: Waiter, link: Link)] in
            guard var entry = state.entries[key], entry.number == number, entry.link == nil else { return [] }
            let waiters = entry.waiters.removeAll()
                .map { (waiter: $0, link: Link(link, share: LinkShare(number))) }
            entry.attempt = nil
            // Others share what the first one has, so that an idle link is one handle.
            entry.link = waiters.first?.link
            entry.users = waiters.count
            state.entries[key] = entry
            return waiters
        }
        // Nobody waits any more.
        guard !waiters.isEmpty else { return link.beginClosing() }
        for (waiter, link) in waiters {
            waiter.timer?.cancel()
            waiter.answer(.success(link))
        }
    }

    /// All who wait hear of it, but those who have more time than the attempt had: for them there is another one.
    private func failed(
        _ error: BLEError,
        _ number: Int,
        _ key: UInt64,
        _ begin: @escaping Begin
    ) {
        let now = timeline.now
        let (waiters, next): ([Waiter], (number: Int, waiter: Waiter)?) = state.withLock { state in
            guard var entry = state.entries[key], entry.number == number, entry.link == nil else { return ([], nil) }
            let told = entry.waiters.removeAll { !$0.goesOn(after: error, at: now) }
            guard let last = entry.waiters.all.max(by: { $0.deadline < $1.deadline }) else {
                state.entries[key] = nil
                return (told, nil)
            }
            let another = Entry(number: state.number(), waiters: entry.waiters)
            state.entries[key] = another
            return (told, (another.number, last))
        }
        for waiter in waiters {
            waiter.timer?.cancel()
            // Each hears of its own limit: the attempt may have begun long after it came.
            let isLate = error.code == .timedOut && waiter.deadline <= now
            waiter.answer(.failure(isLate ? .connectTimedOut(waiter.peripheral, after: waiter.timeout) : error))
        }
        if let (number, waiter) = next {
            self.begin(number, key, waiter, waiter.deadline - now, begin)
        }
    }

    // MARK: - Going

    /// A link is down: whoever still has a part in it finds nothing any more.
    func ended(_ peripheral: Peripheral) {
        let key = peripheral.address.rawValue
        state.withLock { state in
            if state.entries[key]?.link?.bearer.end != nil { state.entries[key] = nil }
        }
    }

    /// One who has used a link doesn't any more; whether nobody is left, and it is to be dropped.
    ///
    /// - Parameter number: which of the links to the peripheral it was.
    fileprivate func leave(_ number: Int, _ key: UInt64) -> Bool {
        state.withLock { state in
            // It was lost before, and there may be another one.
            guard let users = state.entries[key]?.users, state.entries[key]?.number == number else { return true }
            state.entries[key]?.users = users - 1
            guard users <= 1 else { return false }
            state.entries[key] = nil
            return true
        }
    }
}

/// The part that one user has in a link.
final class LinkShare: Sendable {
    private let number: Int
    private let wasLast = Mutex<Bool?>(nil)

    /// - Parameter number: which of the links to the peripheral it is.
    init(_ number: Int) { self.number = number }

    /// Gives the part up, once.
    ///
    /// - Returns: whether it was the last one: the link is to be dropped. The same each time.
    func leave(_ peripheral: Peripheral) -> Bool {
        wasLast.withLock { wasLast in
            let answer = wasLast ?? peripheral.core.links.leave(number, peripheral.address.rawValue)
            wasLast = answer
            return answer
        }
    }
}
