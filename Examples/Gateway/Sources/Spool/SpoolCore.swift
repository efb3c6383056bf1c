import Glibc

/// A spool without its lock.
struct SpoolCore: ~Copyable, Sendable {
    let settings: SpoolSettings
    let disk: Disk
    /// Locked for as long as the spool is open.
    let lock: FolderLock
    var positionFile: PositionFile
    /// Has the position, too, while there are no segments, which would tell the numbers if it were damaged; `nil`: it
    /// can't be used.
    var positionCopy: PositionFile?
    var position: Position

    /// The segments, the oldest first.
    var segments: [Segment] = []
    /// Writes to the last segment; `nil` if the next record begins a new one.
    var writer: SegmentWriter?
    var unsynchronised = 0

    /// Records from `head` on that are acknowledged already.
    var acknowledged: Set<UInt64> = []
    /// Records from `head` on that are no longer there.
    var holes: [Range<UInt64>] = []
    /// Records from `head` on that are given up, or found to be gone, and are dropped when all before them are settled:
    /// the position has no room for their gaps.
    var givenUp: Set<UInt64> = []
    /// The record that is handed out next.
    var cursor: UInt64
    var reader: SegmentReader?
    /// Records below were handed out, in this run or an earlier one.
    var handedOut: UInt64
    /// Records that were dropped after they had been handed out; an acknowledgement can still come.
    var late: Set<UInt64> = []
    /// How many records were settled since the position was written.
    var unwritten = 0
    /// The position that the disk certainly has.
    var synchronised: Position?
    var isClosed = false
    /// Whether the folder had nothing of an earlier opening.
    var isNew = false

    static let settledPerWrite = 64
    static let reserved: UInt64 = 256

    /// Counts everything.
    var counts: SpoolCounts {
        let inHoles = holes.reduce(0) { $0 + $1.count }
        let dropped = Int(position.dropped) + inHoles
        let below = Int(position.head - 1)
        var counts = SpoolCounts()
        counts.appended = Int(position.next - 1)
        counts.acknowledged = below - Int(position.dropped) + acknowledged.count
        counts.spooled = Int(position.next - position.head) - acknowledged.count - inHoles
        counts.dropped = dropped
        counts.refused = Int(position.refused)
        counts.late = late.count
        counts.octets = segments.reduce(0) { $0 + $1.occupied }
        return counts
    }

    // MARK: - Appending

    mutating func append(_ payload: [UInt8]) throws(SpoolError) -> UInt64 {
        let sequence: UInt64
        do {
            let record = try framed(payload)
            try prepareSegment(for: record.count)
            if !tail.isEmpty, !canMoveTail {
                endFile()
                try prepareSegment(for: record.count)
            }
            guard let writer, let last = segments.indices.last else { return position.next }
            try writer.write(record, at: segments[last].size)
            segments[last].size += record.count
            // Not before: a position that is written meanwhile would say that the numbers have moved.
            sequence = takeNumber()
            segments[last].end = sequence + 1
        } catch {
            refused(error.code)
            throw error
        }
        unsynchronised += 1
        // The record is stored: `flush` reports what keeps it from being synchronised.
        if unsynchronised >= settings.recordsPerSync { try? synchronise() }
        return sequence
    }

    private func framed(_ payload: [UInt8]) throws(SpoolError) -> [UInt8] {
        guard payload.count <= Spool.largestRecord else {
            throw SpoolError(
                code: .recordTooLarge,
                operation: "append",
                object: "a record of \(payload.count) octets",
                cause: "a record has at most \(Spool.largestRecord) octets",
                remedy: "Divide it."
            )
        }
        return Segment.framed(payload)
    }

    /// Makes room for a record, and begins a segment for it if the last one is full.
    private mutating func prepareSegment(for count: Int) throws(SpoolError) {
        if writer != nil, let last = segments.last, last.size + count > settings.segmentSize { try finishSegment() }
        let added = writer == nil ? max(Segment.headerSize + count, Segment.smallestFile) : count
        while segments.count > (writer == nil ? 0 : 1),
            segments.reduce(added, { $0 + $1.occupied }) > settings.limit
        {
            try dropOldest()
        }
        guard writer == nil else { return }
        let segment = Segment(
            first: position.next,
            end: position.next,
            epoch: position.epoch,
            dropped: UInt64(counts.dropped),
            hole: position.tailHole,
            size: Segment.headerSize
        )
        writer = try SegmentWriter(segment, in: settings.folder, disk)
        segments.append(segment)
        position.tailHole = 0
        try? disk.synchroniseFolder(settings.folder)
    }

    private mutating func finishSegment() throws(SpoolError) {
        do throws(SpoolError) {
            try synchronise()
        } catch {
            // The file is full all the same.
            writer = nil
            throw error
        }
        writer = nil
        removeFinished()
    }

    mutating func synchronise() throws(SpoolError) {
        guard unsynchronised > 0 else { return }
        try writer?.synchronise()
        unsynchronised = 0
    }

    // MARK: - Dropping

    /// Drops the oldest segment, with whatever in it is not acknowledged.
    private mutating func dropOldest() throws(SpoolError) {
        let oldest = segments[0]
        if oldest.end > position.head {
            let range = max(position.head, oldest.first)..<oldest.end
            let open = range.filter { number in
                !acknowledged.contains(number) && !holes.contains { $0.contains(number) }
            }
            // What was handed out may have arrived: it is lost when the connection is.
            let unsent = open.filter { $0 >= cursor || givenUp.contains($0) }
            if let first = unsent.first, let last = unsent.last { position.lost(first, last, unsent.count) }
            late.formUnion(open.filter { $0 < cursor && !givenUp.contains($0) })
            givenUp.subtract(open)
            position.dropped += UInt64(open.count)
            let settled = Set(open)
            settle { settled.contains($0) }
        }
        try writePosition(synchronised: true, isLastSegment: segments.count == 1)
        if segments.count == 1 { writer = nil }
        unlink(path(of: oldest))
        segments.removeFirst()
        if reader?.first == oldest.first { reader = nil }
        cursor = max(cursor, position.head)
    }

    /// Records that are not there; they pass when those before them are settled.
    mutating func addHole(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        if let last = holes.indices.last, holes[last].upperBound == range.lowerBound {
            holes[last] = holes[last].lowerBound..<range.upperBound
        } else {
            holes.append(range)
            holes.sort { $0.lowerBound < $1.lowerBound }
        }
    }

    func path(of segment: Segment) -> String { "\(settings.folder)/\(Segment.name(segment.first))" }
}
