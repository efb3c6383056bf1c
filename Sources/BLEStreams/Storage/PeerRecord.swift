import BLEProtocol
import FoundationEssentials

/// What is remembered of one peer between two runs of a program. Each part stands for itself; absent: nothing known.
struct PeerRecord: Codable, Equatable, Sendable {
    /// The keys that a pairing made, for each adapter that the peer was paired with.
    var bonds: [BondRecord]?

    /// By which peers know this machine behind its private addresses, where this is one of its own adapters.
    var ownIdentityKey: Data?

    /// The session that a program keeps with it.
    var session: SessionRecord?

    /// What it offered when it was met last, which one request tells to be right or wrong still.
    var services: ServicesRecord?

    /// What it was subscribed to when the last link was lost, where it keeps that: it is bonded.
    var subscribed: [SubscribedRecord]?

    /// What it has configured of the services that this machine offers to it as a central.
    var served: ServedRecord?

    /// Whether there is nothing to remember: no file is needed then.
    var isEmpty: Bool { self == PeerRecord() }
}
