/// What has become of the records of a spool, over all its openings.
///
/// `appended == acknowledged + spooled + dropped`, always and exactly.
public struct SpoolCounts: Hashable, Sendable {
    /// Records that were handed to ``Spool/append(_:)``.
    public var appended = 0
    /// Records that were acknowledged.
    public var acknowledged = 0
    /// Records that wait, or were handed out and are not acknowledged.
    public var spooled = 0
    /// Records that are gone and were not acknowledged, for whatever reason.
    public var dropped = 0
    /// Of the dropped ones, those that the file system had no room for.
    public var refused = 0
    /// Of the dropped ones, those that had been handed out: if their acknowledgement comes, they are acknowledged.
    public var late = 0
    /// The octets of all segments.
    public var octets = 0

    /// All zero.
    public init() {}
}

/// A record that a spool hands out.
public struct SpoolRecord: Hashable, Sendable {
    /// The number of the record, from 1. It rises by one for each record, also over restarts.
    public var sequence: UInt64
    /// The number of the opening of the spool in which it was appended, from 1. A loss of power can lose records that
    /// were not synchronised, and their numbers are used again; together with the epoch, a number is unique.
    public var epoch: UInt64
    /// Whether it may have been handed out before, in this run of the program or an earlier one.
    public var isRedelivered: Bool
    /// The octets.
    public var payload: [UInt8]
}

/// Records that were dropped and that nobody was told of yet.
public struct SpoolLoss: Hashable, Sendable {
    /// The number of the first one.
    public var first: UInt64
    /// The number of the last one.
    public var last: UInt64
    /// How many were dropped; less than the numbers from the first to the last if several losses were merged, or if
    /// some of them were acknowledged.
    public var count: Int
}
