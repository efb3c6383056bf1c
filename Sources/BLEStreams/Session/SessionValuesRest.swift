import BLEProtocol
import Synchronization

/// What a consumer of all values of a session, or of all sessions of a fleet, leaves behind, for each subscription.
final class SessionValuesRest: Sendable {
    typealias Rest = Mailbox<CharacteristicValue>.Rest

    struct Origin: Hashable {
        let session: ObjectIdentifier
        let subscription: Session.Subscription
    }

    /// A gap of one subscription. Where no value comes in between, the buffer has one gap for several of them, in
    /// front of whichever value follows.
    private struct Noted {
        let origin: Origin
        var gap: StreamGap
        let place: Mailbox<Session.Value>.GapPlace
    }

    private struct State {
        var rests: [Origin: Rest] = [:]
        /// The gaps of each subscription that the consumer has not taken.
        var gaps: [Noted] = []
        /// Those before the next value of each.
        var own: [Origin: StreamGap] = [:]
        /// At how many places values of unknown subscriptions may be missing, and how many of them each has been told.
        var losses = 0
        var told: [Origin: Int] = [:]
        /// The values with their sessions, which may not be released under a lock.
        var taken: [Mailbox<Session.Value>.Rest] = []
        /// Whether the consumer has taken nothing; `nil` until something is taken from here.
        var isUntouched: Bool?

        /// Adds a gap; those of one subscription at one place are one, so there are no more of them than elements.
        mutating func add(_ new: Noted) {
            let last = gaps.lastIndex { $0.origin == new.origin && $0.place.number == new.place.number }
            guard let last else { return gaps.append(new) }
            gaps[last].gap = gaps[last].gap.merged(with: new.gap)
        }

        /// Passes the gap in front of the element with this number, which may be of several subscriptions.
        ///
        /// - Returns: what is nobody's own.
        mutating func pass(_ gap: StreamGap, before number: Int) -> StreamGap? {
            if gap.mayLackValues { losses += 1 }
            var rest = StreamGap(dropped: gap.dropped)
            for known in gaps where known.place.number == number {
                own[known.origin] = own[known.origin]?.merged(with: known.gap) ?? known.gap
                rest.dropped -= known.gap.dropped
            }
            gaps.removeAll { $0.place.number == number }
            return rest.dropped > 0 ? rest : nil
        }

        /// The gap before the next value of a subscription, or behind its last one: its own, what is nobody's own, and
        /// where values of any may be missing, its own may be.
        mutating func gap(of origin: Origin, _ others: StreamGap?) -> StreamGap? {
            var gap = others
            if let own = own.removeValue(forKey: origin) { gap = gap?.merged(with: own) ?? own }
            guard losses > told[origin, default: 0] else { return gap }
            told[origin] = losses
            return gap?.merged(with: StreamGap.ofUnknownLoss) ?? StreamGap.ofUnknownLoss
        }
    }

    private let mailbox: Mailbox<Session.Value>
    private let state = Mutex(State())

    init(of mailbox: Mailbox<Session.Value>) { self.mailbox = mailbox }

    /// Puts in a gap of a subscription.
    ///
    /// - Parameter lost: how many of its values no consumer has counted.
    /// - Returns: whether the consumer has to be woken.
    fileprivate func put(_ gap: StreamGap, of origin: Origin, counting lost: Int = 0) -> Bool {
        state.withLock { state in
            let added = mailbox.append(gap, counting: lost)
            state.gaps.removeAll { $0.place.isTold(by: added.told) }
            state.add(Noted(origin: origin, gap: gap.ofOneSubscription, place: added.place))
            return added.mustWake
        }
    }

    /// Takes what has come of a subscription; called once for each, when the consumer leaves or the session does. The
    /// gap of a subscription is before its next value. One that is of none, as where the buffer had no room, is in
    /// front of the value that followed it, of whichever session; if nothing did, it is the first one's that is asked
    /// for.
    func take(of origin: Origin) -> Rest {
        state.withLock { state in
            let all = mailbox.takeRest()
            state.gaps.removeAll { $0.place.isTold(by: all.told) }
            for (index, (value, gap)) in all.elements.enumerated() {
                let others = gap.flatMap { state.pass($0, before: all.first + index) }
                let origin = Origin(session: ObjectIdentifier(value.session), subscription: value.subscription)
                let gap = state.gap(of: origin, others)
                state.rests[origin, default: Rest()].elements.append((value.value, gap))
            }
            let others = all.gap.flatMap { state.pass($0, before: all.first + all.elements.count) }
            var rest = state.rests.removeValue(forKey: origin) ?? Rest()
            rest.gap = state.gap(of: origin, others)
            let isUntouched = state.isUntouched ?? all.isUntouched
            (rest.isUntouched, state.isUntouched) = (isUntouched, isUntouched)
            if !all.elements.isEmpty { state.taken.append(all) }
            return rest
        }
    }

    /// The consumer has left: what no subscription has asked for is lost, because another stream has it too, or because
    /// its session is no longer in the fleet.
    func finish() {
        // Released outside the lock.
        let old = state.withLock { state in
            let old = state
            state = State()
            return old
        }
        mailbox.lose(old.rests.values.reduce(0) { $0 + $1.elements.count })
    }
}

extension SessionConsumer {
    /// Creates a consumer for a stream of all values of a fleet or a session.
    ///
    /// - Parameter finish: the values have ended; `nil` for a consumer that outlives a failure of the session.
    convenience init(
        _ mailbox: Mailbox<Session.Value>,
        of session: Session,
        _ subscription: Session.Subscription,
        _ rest: SessionValuesRest,
        finish: (@Sendable ((any Error)?) -> Void)? = nil
    ) {
        let origin = SessionValuesRest.Origin(session: ObjectIdentifier(session), subscription: subscription)
        self.init(
            put: { [weak session] values in
                guard let session else { return false }
                let values = values.map { Session.Value(session: session, subscription: subscription, value: $0) }
                return mailbox.put(contentsOf: values).mustWake
            },
            lost: { $0 > 0 && rest.put(StreamGap(dropped: $0), of: origin, counting: $0) },
            interrupted: { rest.put($0, of: origin) },
            wake: { mailbox.wake() },
            finish: finish,
            takeRest: { rest.take(of: origin) }
        )
    }
}
