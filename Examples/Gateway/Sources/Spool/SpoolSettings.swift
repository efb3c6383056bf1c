/// Where a spool is and how large it becomes.
public struct SpoolSettings: Hashable, Sendable {
    /// The smallest limit: four segments of the smallest size.
    public static let smallestLimit = 64 << 10

    /// The folder, which is created if its parent exists.
    public var folder: String

    /// How many octets all segments may have. When a record doesn't fit, the oldest segment is dropped.
    public var limit: Int

    /// How many records may be written before they are synchronised with the disk (`fdatasync`).
    ///
    /// Each record is written with one system call before ``Spool/append(_:)`` returns, so the end of the process,
    /// `kill -9` included, loses none. A loss of power can lose those that are not synchronised yet: at most this
    /// many, or those since the last ``Spool/flush()``. 1 synchronises each record.
    public var recordsPerSync: Int

    /// Settings with a limit of 64 MiB, synchronised at least every 256 records.
    public init(folder: String, limit: Int = 64 << 20, recordsPerSync: Int = 256) {
        self.folder = folder
        self.limit = limit
        self.recordsPerSync = recordsPerSync
    }

    /// The size of a segment: a sixteenth of the limit, but at least 16 KiB and at most 4 MiB.
    var segmentSize: Int { min(max(limit / 16, 16 << 10), 4 << 20) }
}
