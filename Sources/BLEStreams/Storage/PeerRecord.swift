import FoundationEssentials

/// The data kept of one peer between two runs of a program. The parts are independent; an absent one is unknown.
struct PeerRecord: Codable, Equatable, Sendable {
    /// The keys of pairings, for each adapter that has paired with the peer.
    var bonds: [BondRecord]?

    /// The key by which peers recognise this machine behind its private addresses, if this is one of its own adapters.
    var ownIdentityKey: Data?

    /// The session that a program has with it.
    var session: SessionRecord?

    /// Sessions with other plans, if there are several; absent in older files.
    var otherSessions: [SessionRecord]?

    /// Its attributes at the last link; one request finds out whether they are still right.
    var services: ServicesRecord?

    /// Its subscriptions when the last link was lost, if it keeps them because it is bonded.
    var subscribed: [SubscribedRecord]?

    /// What it has configured, as a central, of the services that this machine offers.
    var served: ServedRecord?

    /// The same at other adapters, if there are several; absent in older files.
    var otherServed: [ServedRecord]?

    /// All sessions with it, the one that was stored last first; one that is stored again as it was keeps its place.
    var sessions: [SessionRecord] {
        get { [session].compactMap { $0 } + (otherSessions ?? []) }
        set {
            session = newValue.first
            otherSessions = newValue.count > 1 ? Array(newValue.dropFirst()) : nil
        }
    }

    /// Whether there is nothing to keep: then no file is needed.
    var isEmpty: Bool { self == PeerRecord() }
}
