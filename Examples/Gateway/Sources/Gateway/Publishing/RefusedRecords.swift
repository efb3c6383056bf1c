import Spool

/// What a person is told of records that find no room: each cause once. On a full disk, what the broker acknowledges
/// makes room for some records between those that are refused, again and again.
struct RefusedRecords {
    /// For how long no record must have been refused before a person is told of the same cause again.
    static let quiet = Duration.seconds(600)

    private var cause: String?
    private var last: ContinuousClock.Instant?

    /// What to tell of a record that was refused.
    ///
    /// - Returns: `nil`: nothing new.
    mutating func news(_ error: SpoolError, at now: ContinuousClock.Instant = .now) -> String? {
        defer { (cause, last) = (error.cause, now) }
        // The file is another one each time.
        if let last, error.cause == cause, last.duration(to: now) < Self.quiet { return nil }
        return "\(error)"
    }
}
