import BLEProtocol
import Synchronization

/// What a consumer of all values of a session, or of all sessions of a fleet, leaves behind, for each subscription.
final class SessionValuesRest: Sendable {
    typealias Rest = Mailbox<CharacteristicValue>.Rest

    private struct Origin: Hashable {
        let session: ObjectIdentifier
        let subscription: Session.Subscription
    }

    /// What one subscription has told of the end of its link. Where no value comes in between, the buffer has one gap
    /// for several of them, in front of whichever value follows.
    private struct Break {
        let origin: Origin
        let gap: StreamGap
        /// The number of the element that follows in the buffer.
        let number: Int
        /// There as long as the buffer has the gap.
        weak let linkBreak: LinkBreak?
    }

    private struct State {
        var rests: [Origin: Rest] = [:]
        var breaks: [Break] = []
        /// The ends of links before the next value of each.
        var ends: [Origin: StreamGap] = [:]
        /// At how many places values of unknown subscriptions may be missing, and how many of them each has been told.
        var losses = 0
        var told: [Origin: Int] = [:]
        /// The values with their sessions, which may not be released under a lock.
        var taken: [Mailbox<Session.Value>.Rest] = []

        /// Passes the gap in front of the element with this number, which may be of several subscriptions.
        mutating func pass(_ gap: StreamGap, before number: Int) {
            if gap.mayLackValues { losses += 1 }
            for known in breaks where known.number == number && gap.breaks.contains(where: { $0 === known.linkBreak }) {
                ends[known.origin] = ends[known.origin]?.merged(with: known.gap) ?? known.gap
            }
        }

        /// The gap before the next value of a subscription, or behind its last one: where values of any may be missing,
        /// its own may be. The end of a link is in it only if it was this subscription's.
        mutating func gap(of origin: Origin, _ gap: StreamGap?) -> StreamGap? {
            var own = gap.flatMap { $0.breaks.isEmpty ? $0 : $0.withoutBreaks }
            if let end = ends.removeValue(forKey: origin) { own = own?.merged(with: end) ?? end }
            guard losses > told[origin, default: 0] else { return own }
            told[origin] = losses
            return own?.merged(with: StreamGap.ofUnknownLoss) ?? StreamGap.ofUnknownLoss
        }
    }

    private let mailbox: Mailbox<Session.Value>
    private let state = Mutex(State())

    init(of mailbox: Mailbox<Session.Value>) { self.mailbox = mailbox }

    /// Puts in the end of a subscription's link.
    ///
    /// - Returns: whether the consumer has to be woken.
    fileprivate func interrupt(
        _ session: ObjectIdentifier,
        _ subscription: Session.Subscription,
        _ gap: StreamGap
    ) -> Bool {
        let origin = Origin(session: session, subscription: subscription)
        return state.withLock { state in
            let place = mailbox.append(gap)
            // Those before it the consumer was told of.
            state.breaks.removeAll { $0.number < place.first || $0.linkBreak == nil }
            for linkBreak in gap.breaks {
                state.breaks.append(
                    Break(origin: origin, gap: gap.ofOneSubscription, number: place.number, linkBreak: linkBreak)
                )
            }
            return place.mustWake
        }
    }

    /// Takes what has come of a subscription; called once for each, when the consumer leaves or the session does. The
    /// end of a link is before the next value of each subscription that it concerned. Any other gap is in front of the
    /// value that followed it, of whichever session; one that nothing followed is the first one's that is asked for.
    func take(of session: ObjectIdentifier, _ subscription: Session.Subscription) -> Rest {
        state.withLock { state in
            let all = mailbox.takeRest()
            for (index, (value, gap)) in all.elements.enumerated() {
                if let gap { state.pass(gap, before: all.first + index) }
                let origin = Origin(session: ObjectIdentifier(value.session), subscription: value.subscription)
                let own = state.gap(of: origin, gap)
                state.rests[origin, default: Rest()].elements.append((value.value, own))
            }
            if let gap = all.gap { state.pass(gap, before: all.first + all.elements.count) }
            let origin = Origin(session: session, subscription: subscription)
            var rest = state.rests.removeValue(forKey: origin) ?? Rest()
            rest.gap = state.gap(of: origin, all.gap)
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
        let id = ObjectIdentifier(session)
        self.init(
            put: { [weak session] values in
                guard let session else { return false }
                let values = values.map { Session.Value(session: session, subscription: subscription, value: $0) }
                return mailbox.put(contentsOf: values).mustWake
            },
            lost: { mailbox.put(lost: $0) },
            interrupted: { $0.breaks.isEmpty ? mailbox.put($0) : rest.interrupt(id, subscription, $0) },
            wake: { mailbox.wake() },
            finish: finish,
            takeRest: { rest.take(of: id, subscription) }
        )
    }
}
