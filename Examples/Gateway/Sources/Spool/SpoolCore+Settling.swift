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
        guard sequence >= position.head, sequence < cursor, !holes.contains(where: { $0.contains(sequence) }) else {
            return
        }
        guard acknowledged.insert(sequence).inserted else { return }
        unwritten += 1
        settle()
        if unwritten >= Self.settledPerWrite {
            try writePosition()
            removeFinished()
        }
    }

    mutating func drop(_ sequence: UInt64) throws(SpoolError) {
        guard sequence >= position.head, sequence < cursor, !acknowledged.contains(sequence),
            !holes.contains(where: { $0.contains(sequence) })
        else { return }
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
        let end = tail.lowerBound
        for hole in holes where hole.lowerBound < end && kept.gaps.count < Position.gapLimit {
            kept.gaps.append(hole.lowerBound..<min(hole.upperBound, end))
        }
        return kept
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
