import Spool

/// What a person is told of records that find no room: each cause once, however often causes take turns, and however
/// rare records are. On a full disk, what the broker acknowledges makes room for some records between those that are
/// refused, again and again.
struct RefusedRecords {
    /// How long after the last refused record one must be stored before a person is told of the same cause again.
    static let quiet = Duration.seconds(600)

    /// Of which causes a person knows.
    private var told: Set<String> = []
    private var last: ContinuousClock.Instant?

    /// A record was stored.
    mutating func stored(at now: @autoclosure () -> ContinuousClock.Instant = .now) {
        guard let last, last.duration(to: now()) >= Self.quiet else { return }
        self = RefusedRecords()
    }

    /// What to tell of a record that was refused.
    ///
    /// - Returns: `nil`: nothing new.
    mutating func news(_ error: SpoolError, at now: ContinuousClock.Instant = .now) -> String? {
        last = now
        // By the cause: the file is another one each time.
        return told.insert(error.cause).inserted ? "\(error)" : nil
    }
}
