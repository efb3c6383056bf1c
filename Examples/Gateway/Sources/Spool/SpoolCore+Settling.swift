import Glibc

/// What is settled: acknowledged or dropped.
extension SpoolCore {
    mutating func acknowledge(_ sequence: UInt64) throws(SpoolError) {
        if late.remove(sequence) != nil {
            // It was counted as dropped, and is not.
            position.dropped -= 1
            unwritten += 1
            return
        }
        guard sequence >= position.head, sequence < cursor, !givenUp.contains(sequence),
            !holes.contains(where: { $0.contains(sequence) })
        else { return }
        guard acknowledged.insert(sequence).inserted else { return }
        unwritten += 1
        settle()
        if unwritten >= Self.settledPerWrite {
            try writePosition()
            removeFinished()
        }
    }

    mutating func drop(_ sequence: UInt64) throws(SpoolError) {
        if late.remove(sequence) != nil {
            // It is counted as dropped already; no acknowledgement comes any more.
            position.lost(sequence, sequence, 1)
            return try writePosition()
        }
        guard sequence >= position.head, sequence < cursor, !acknowledged.contains(sequence),
            !givenUp.contains(sequence), !holes.contains(where: { $0.contains(sequence) })
        else { return }
        guard sequence == position.head || hasRoomForGap else {
            // If it were told now, a restart would forget that, and hand it out again.
            givenUp.insert(sequence)
            return
        }
        position.lost(sequence, sequence, 1)
        addHole(sequence..<(sequence + 1))
        settle()
        try writePosition()
    }

    /// Advances the head over everything that is settled.
    mutating func settle(alsoDropped isDropped: (UInt64) -> Bool = { _ in false }) {
        while position.head < position.next {
            if acknowledged.remove(position.head) != nil || isDropped(position.head) {
                position.head += 1
            } else if let hole = holes.first, hole.contains(position.head) {
                position.dropped += hole.upperBound - position.head
                position.head = hole.upperBound
                holes.removeFirst()
            } else if givenUp.remove(position.head) != nil {
                position.lost(position.head, position.head, 1)
                position.dropped += 1
                position.head += 1
                // The position is written before somebody is told of it.
                unwritten += Self.settledPerWrite
            } else {
                return
            }
        }
    }

    /// Removes the segments whose records are all settled, once that is on disk.
    mutating func removeFinished() {
        endSettledFile()
        while let oldest = segments.first, oldest.end <= position.head, segments.count > 1 || writer == nil {
            // Otherwise a loss of power could bring the position back without the records.
            let isLast = segments.count == 1
            guard (try? writePosition(synchronised: true, isLastSegment: isLast)) != nil else { return }
            unlink(path(of: oldest))
            segments.removeFirst()
            if reader?.first == oldest.first { reader = nil }
        }
    }

    /// The position as it is kept on disk.
    private var kept: Position {
        var kept = position
        // If the process ends, no acknowledgement comes any more for these.
        if let first = late.min(), let last = late.max() { kept.lostBefore(first, last, late.count) }
        let (own, ofFiles) = gaps
        kept.gaps = own + ofFiles.prefix(Position.gapLimit - min(own.count, Position.gapLimit))
        return kept
    }

    /// Whether the position can keep one more gap.
    var hasRoomForGap: Bool { holes.count < Position.gapLimit || gaps.own.count < Position.gapLimit }

    /// The gaps that the position must keep, and those that the headers of files tell as well, which are kept if there
    /// is room: a file can be damaged. If there are few, they are not told apart.
    private var gaps: (own: [Range<UInt64>], ofFiles: [Range<UInt64>]) {
        let end = tail.lowerBound
        let all = holes.filter { $0.lowerBound < end }.map { $0.lowerBound..<min($0.upperBound, end) }
        guard all.count >= Position.gapLimit else { return (all, []) }
        let refused = Dictionary(segments.map { ($0.first, $0.hole) }, uniquingKeysWith: max)
        let isOfFile = { (gap: Range<UInt64>) in UInt64(gap.count) <= refused[gap.upperBound] ?? 0 }
        return (all.filter { !isOfFile($0) }, all.filter(isOfFile))
    }

    /// Writes the position.
    ///
    /// - Parameter isLastSegment: the only segment is removed after that.
    mutating func writePosition(synchronised: Bool = false, isLastSegment: Bool = false) throws(SpoolError) {
        let kept = kept
        try positionFile.write(kept, synchronised: synchronised)
        if segments.isEmpty || isLastSegment { try? positionCopy?.write(kept, synchronised: synchronised) }
        unwritten = 0
        if synchronised { self.synchronised = position }
    }

    mutating func acknowledge(_ loss: SpoolLoss) throws(SpoolError) {
        guard let index = position.losses.firstIndex(where: { $0.first == loss.first }) else { return }
        if position.losses[index].last == loss.last {
            position.losses.remove(at: index)
        } else {
            // It has grown meanwhile; the rest is a loss of its own.
            position.losses[index].count -= loss.count
            position.losses[index].first = loss.last + 1
        }
        try writePosition()
    }
}
