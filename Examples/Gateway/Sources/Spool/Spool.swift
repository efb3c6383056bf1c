import Synchronization

/// A bounded queue of records on disk, for what a receiver has not acknowledged yet.
///
/// ```swift
/// let spool = try Spool(SpoolSettings(folder: "/var/lib/gateway/spool"))
/// try spool.append(Array("21.5".utf8))
/// while let record = try spool.next() {
///     if send(record.payload) { try spool.acknowledge(record.sequence) }
/// }
/// ```
///
/// Every record is acknowledged, waits, or was dropped, and ``counts`` says how many of each, exactly, also over
/// restarts. What was not known as acknowledged when the program ended is handed out again and marked
/// (``SpoolRecord/isRedelivered``). The end of the process at any instruction loses no record; a loss of power loses
/// what was not synchronised (``SpoolSettings/recordsPerSync``). Records that are dropped, because the spool is full,
/// the disk is full, or a file is damaged, are reported as ``loss``.
///
/// All calls block for as long as the disk takes.
public final class Spool: Sendable {
    /// The most octets of one record.
    public static let largestRecord = 12 << 10

    private let core: Mutex<SpoolCore>

    /// Opens the spool in a folder, and creates it if needed.
    ///
    /// - Throws: ``SpoolError/Code/inUse`` if another program has it open; ``SpoolError/Code/diskFull``;
    ///   ``SpoolError/Code/systemFailure``; ``SpoolError/Code/invalidSettings``.
    public convenience init(_ settings: SpoolSettings) throws(SpoolError) { try self.init(settings, Disk()) }

    init(_ settings: SpoolSettings, _ disk: Disk) throws(SpoolError) {
        core = Mutex(try SpoolCore.open(settings, disk))
    }

    /// Whether nothing of an earlier opening was found in the folder, so that the numbers begin at 1: it is used for
    /// the first time, or the disk that has it isn't mounted. A spool can't tell which.
    public var isNew: Bool { core.withLock { $0.isNew } }

    /// The number of this opening.
    var epoch: UInt64 { core.withLock { $0.position.epoch } }

    /// How many dropped records nobody was told of yet, with those whose acknowledgement can still come.
    var untold: Int { core.withLock { core in core.position.losses.reduce(core.late.count) { $0 + $1.count } } }

    /// What has become of all records.
    public var counts: SpoolCounts { core.withLock { $0.counts } }

    /// Appends a record.
    ///
    /// - Returns: its number.
    /// - Throws: ``SpoolError/Code/diskFull``, ``SpoolError/Code/recordTooLarge`` or another error if it was not
    ///   stored; it is then counted as dropped. ``SpoolError/Code/closed``: it is not counted.
    @discardableResult
    public func append(_ payload: [UInt8]) throws(SpoolError) -> UInt64 {
        try perform("append") { core throws(SpoolError) in try core.append(payload) }
    }

    /// The next record that was not handed out since the spool was opened or rewound; `nil` if there is none.
    ///
    /// - Throws: ``SpoolError`` if the disk can't be read or written.
    public func next() throws(SpoolError) -> SpoolRecord? {
        try perform("next") { core throws(SpoolError) in try core.next() }
    }

    /// The receiver has a record that was handed out. Acknowledgements may come in any order; those for unknown records
    /// are ignored.
    ///
    /// - Throws: ``SpoolError`` if the position can't be written; it is written again later.
    public func acknowledge(_ sequence: UInt64) throws(SpoolError) {
        try perform("acknowledge") { core throws(SpoolError) in try core.acknowledge(sequence) }
    }

    /// Gives up a record that was handed out, since the receiver will never take it; it is counted as dropped. If more
    /// than a hundred are given up behind one that waits, some are counted when that is settled: a restart before
    /// hands them out again.
    ///
    /// - Throws: ``SpoolError`` if the position can't be written; it is written again later.
    public func drop(_ sequence: UInt64) throws(SpoolError) {
        try perform("drop") { core throws(SpoolError) in try core.drop(sequence) }
    }

    /// Hands out all records again that are not acknowledged: the connection to the receiver was lost.
    public func rewind() { core.withLock { $0.rewind() } }

    /// Dropped records that nobody was told of yet; `nil` if there are none.
    ///
    /// No later record gets a number that was returned. Ask only to tell somebody of the loss: the next record may
    /// begin a new file after that.
    public var loss: SpoolLoss? { core.withLock { $0.firstLoss() } }

    /// The receiver was told of a loss.
    ///
    /// - Throws: ``SpoolError`` if the position can't be written.
    public func acknowledge(_ loss: SpoolLoss) throws(SpoolError) {
        try perform("acknowledge") { core throws(SpoolError) in try core.acknowledge(loss) }
    }

    /// The number that the next record gets, at least; records below it were appended before this call.
    public var nextSequence: UInt64 { core.withLock { $0.nextNumber } }

    /// Synchronises all records and the position with the disk.
    ///
    /// - Throws: ``SpoolError`` if that fails.
    public func flush() throws(SpoolError) {
        try perform("flush") { core throws(SpoolError) in
            try core.synchronise()
            // An idle spool doesn't wear the disk.
            guard core.position != core.synchronised else { return }
            try core.writePosition(synchronised: true)
            core.removeFinished()
        }
    }

    /// Closes the spool; afterwards only records that were handed out count as possibly sent.
    ///
    /// - Throws: ``SpoolError`` if the disk can't be written; the spool is closed all the same.
    public func close() throws(SpoolError) {
        try perform("close") { core throws(SpoolError) in
            core.isClosed = true
            // Whoever still holds the spool must not keep the folder from being opened again.
            defer { core.lock.release() }
            core.giveUpLate()
            core.position.offered = core.handedOut
            try core.synchronise()
            try core.writePosition(synchronised: true)
            core.removeFinished()
        }
    }

    private func perform<Output: Sendable>(
        _ operation: String,
        _ body: (inout SpoolCore) throws(SpoolError) -> Output
    ) throws(SpoolError) -> Output {
        try core.withLock { core throws(SpoolError) in
            guard !core.isClosed else {
                throw SpoolError(
                    code: .closed,
                    operation: operation,
                    object: core.settings.folder,
                    cause: "the spool is closed",
                    remedy: "Open it again."
                )
            }
            return try body(&core)
        }
    }
}
