import BLEProtocol
import Synchronization

/// What a consumer of all values of a session, or of all sessions of a fleet, leaves behind, for each subscription.
final class SessionValuesRest: Sendable {
    typealias Rest = Mailbox<CharacteristicValue>.Rest

    private struct Origin: Hashable {
        let session: ObjectIdentifier
        let subscription: Session.Subscription
    }

    private struct State {
        var rests: [Origin: Rest] = [:]
        /// At how many places values of unknown subscriptions may be missing, and how many of them each has been told.
        var losses = 0
        var told: [Origin: Int] = [:]
        /// The values with their sessions, which may not be released under a lock.
        var taken: [Mailbox<Session.Value>.Rest] = []

        /// The gap before the next value of a subscription, or behind its last one: where values of any may be missing,
        /// its own may be.
        mutating func gap(of origin: Origin, _ gap: StreamGap?) -> StreamGap? {
            guard losses > told[origin, default: 0] else { return gap }
            told[origin] = losses
            return gap?.merged(with: StreamGap.ofUnknownLoss) ?? StreamGap.ofUnknownLoss
        }
    }

    private let mailbox: Mailbox<Session.Value>
    private let state = Mutex(State())

    init(of mailbox: Mailbox<Session.Value>) { self.mailbox = mailbox }

    /// Takes what has come of a subscription; called once for each, when the consumer leaves or the session does. A gap
    /// is in front of the value that followed it, of whichever session; one that nothing followed is the first one's
    /// that is asked for.
    func take(of session: ObjectIdentifier, _ subscription: Session.Subscription) -> Rest {
        state.withLock { state in
            let all = mailbox.takeRest()
            for (value, gap) in all.elements {
                if gap?.mayLackValues == true { state.losses += 1 }
                let origin = Origin(session: ObjectIdentifier(value.session), subscription: value.subscription)
                let own = state.gap(of: origin, gap)
                state.rests[origin, default: Rest()].elements.append((value.value, own))
            }
            if all.gap?.mayLackValues == true { state.losses += 1 }
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
            interrupted: { mailbox.put($0) },
            wake: { mailbox.wake() },
            finish: finish,
            takeRest: { rest.take(of: id, subscription) }
        )
    }
}
