import BLEProtocol

/// What is remembered of one peer between two runs of a program. Each part stands for itself; absent: nothing known.
struct PeerRecord: Codable, Equatable, Sendable {
    /// The keys that a pairing made, for each adapter that the peer was paired with.
    var bonds: [BondRecord]?

    /// The session that a program keeps with it.
    var session: SessionRecord?

    /// What it offered when it was met last, which one request tells to be right or wrong still.
    var services: ServicesRecord?

    /// What it has configured of the services that this machine offers to it as a central.
    var served: ServedRecord?

    /// Whether there is nothing to remember: no file is needed then.
    var isEmpty: Bool { self == PeerRecord() }
}

/// A peer's file as it stands on the disk: ``PeerRecord`` and what tells whether it can be read.
struct PeerFile: Codable, Sendable {
    /// The only form that this library writes, and that it reads.
    static let currentVersion = 1

    var version = Self.currentVersion
    /// Whose file it is: `C4:F2:17:1A:1D:BB/random`.
    var peer: String
    var record: PeerRecord
}
