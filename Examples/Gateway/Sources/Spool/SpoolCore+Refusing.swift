import Glibc

/// Records that found no room.
///
/// The numbers of a file's records follow each other. The numbers of those that found no room are therefore kept
/// behind them: the next record that is stored takes the first of these numbers, and they move up by one. Otherwise a
/// disk that is full on and off would make a file for each record. They stay as they are once somebody is told of the
/// loss, or all records before them are settled; the next record then begins a new file.
extension SpoolCore {
    /// A record found no room.
    mutating func refused(_ reason: SpoolError.Code) {
        let sequence = position.next
        position.next += 1
        // Any other error may be one of this file alone.
        let isFileUsable = reason == .diskFull || reason == .recordTooLarge
        if !isFileUsable || !isLastFileWhole { endFile() }
        position.refused += 1
        position.tailHole += 1
        position.lost(sequence, sequence, 1)
        addHole(sequence..<(sequence + 1))
        settle()
        try? writePosition()
    }

    /// Whether the last file is being written, has records, and nothing behind them.
    private var isLastFileWhole: Bool {
        guard let writer, let last = segments.last, last.first < last.end else { return false }
        return writer.hasSize(last.size)
    }

    /// The next record begins a new file.
    mutating func endFile() {
        try? synchronise()
        if writer != nil, let last = segments.last, last.first == last.end {
            position.tailHole += last.hole
            unlink(path(of: last))
            segments.removeLast()
        }
        writer = nil
    }

    /// Ends the last file if all its records are settled and the numbers behind it can't move: the file could not be
    /// removed otherwise, and takes room on a disk that has none.
    mutating func endSettledFile() {
        guard writer != nil, !tail.isEmpty, let last = segments.last, last.end <= position.head else { return }
        endFile()
    }

    /// The numbers of the last records if these found no room, or are gone since; empty if the last record is there.
    var tail: Range<UInt64> { (position.next - position.tailHole)..<position.next }

    /// Whether the numbers of those that found no room can move.
    var canMoveTail: Bool {
        let tail = tail
        guard !tail.isEmpty, let loss = position.losses.last else { return false }
        return segments.last?.end == tail.lowerBound && holes.last == tail
            && loss.first <= tail.lowerBound && loss.last + 1 == tail.upperBound
    }

    /// The number that the next record gets, at least.
    var nextNumber: UInt64 {
        writer != nil && canMoveTail ? tail.lowerBound : position.next
    }

    /// Takes the number of a record that was stored, and moves the numbers of those that found no room up by one.
    ///
    /// Call it only if there are none of these, or their numbers can move.
    mutating func takeNumber() -> UInt64 {
        let tail = tail
        position.next += 1
        guard !tail.isEmpty else { return tail.lowerBound }
        holes[holes.count - 1] = (tail.lowerBound + 1)..<(tail.upperBound + 1)
        position.moveLastLoss(from: tail.lowerBound, by: 1)
        // It may have passed over them already.
        cursor = min(cursor, tail.lowerBound)
        return tail.lowerBound
    }

    /// The oldest loss. Its numbers stay as they are from now on.
    mutating func firstLoss() -> SpoolLoss? {
        guard let loss = position.losses.first else { return nil }
        if writer != nil, !tail.isEmpty, loss.last >= tail.lowerBound { endFile() }
        return loss
    }

    /// Recovers the numbers of the records that found no room: they may have moved since the position was written.
    ///
    /// - Parameter count: how many there were when it was written.
    mutating func recoverTailHole(_ count: UInt64) {
        guard count > 0, count < position.next else { return }
        let former = position.next - count
        // The file that was begun next says where they are; without one, they are behind the last record. A smaller gap
        // is another one: a file before it is gone. Then they are among its numbers, which are missing.
        let later = segments.first { $0.first >= position.next }
        let first = later.map { $0.first - min(max($0.hole, count), $0.first) } ?? segments.last?.end ?? former
        guard first > former else { return }
        if position.losses.last?.last == position.next - 1 { position.moveLastLoss(from: former, by: first - former) }
        if later == nil { position.next += first - former }
    }
}

extension Position {
    /// The last loss ends with numbers that move up.
    ///
    /// - Parameter first: the first of these numbers; the loss can begin before, if several were merged.
    fileprivate mutating func moveLastLoss(from first: UInt64, by count: UInt64) {
        guard let last = losses.indices.last, losses[last].first <= first else { return }
        if losses[last].first == first { losses[last].first += count }
        losses[last].last += count
    }
}
