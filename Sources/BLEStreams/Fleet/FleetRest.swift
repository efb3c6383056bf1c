import BLEProtocol
import Synchronization

/// What a consumer of a fleet's values leaves behind, for each subscription of each session.
final class FleetRest: Sendable {
    typealias Rest = Mailbox<CharacteristicValue>.Rest

    private struct Origin: Hashable {
        let session: ObjectIdentifier
        let subscription: Session.Subscription
    }

    private let mailbox: Mailbox<Session.Value>
    private let rests = Mutex<[Origin: Rest]>([:])

    init(of mailbox: Mailbox<Session.Value>) { self.mailbox = mailbox }

    /// Takes what has come of a subscription; called once for each, when the consumer leaves or the session does. A gap
    /// is in front of the value that followed it, of whichever session; one that nothing followed is the first one's
    /// that is asked for.
    func take(of session: Session?, _ subscription: Session.Subscription) -> Rest {
        guard let session else { return Rest() }
        // The sessions of the values are released outside the lock.
        let all = mailbox.takeRest()
        return rests.withLock { rests in
            for (value, gap) in all.elements {
                let origin = Origin(session: ObjectIdentifier(value.session), subscription: value.subscription)
                rests[origin, default: Rest()].elements.append((value.value, gap))
            }
            let origin = Origin(session: ObjectIdentifier(session), subscription: subscription)
            var rest = rests.removeValue(forKey: origin) ?? Rest()
            rest.gap = all.gap
            return rest
        }
    }
}
