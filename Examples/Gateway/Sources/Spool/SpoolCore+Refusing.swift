import Glibc

/// Records that found no room.
///
/// The numbers of a file's records follow each other. The numbers of those that found no room are therefore kept behind
/// them: the next record that is stored takes the first of these numbers, and they move up by one. Otherwise a disk that
/// is full on and off would make a file for each record. They stay where they are once somebody is told of the loss, or
/// all before them is settled; the next record then begins a new file.
extension SpoolCore {
    /// A record found no room.
    mutating func refused(_ sequence: UInt64, _ reason: SpoolError.Code) {
        position.next = sequence + 1
        // After any other error, another file may still be written.
        let isOfRoom = reason == .diskFull || reason == .recordTooLarge
        if !isOfRoom || !isLastFileWhole { endFile() }
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

    /// Ends the last file if all in it is settled and the numbers behind it can't move: it takes room on a disk that has
    /// none.
    mutating func endSettledFile() {
        guard writer != nil, position.tailHole > 0, let last = segments.last, last.end <= position.head else { return }
        endFile()
    }

    /// Whether the numbers of those that found no room can move.
    ///
    /// - Parameter sequence: the number behind them.
    func canMoveTail(_ sequence: UInt64) -> Bool {
        let first = sequence - position.tailHole
        guard position.tailHole > 0, let hole = holes.last, let loss = position.losses.last, segments.last?.end == first
        else { return false }
        return hole == first..<sequence && loss.first <= first && loss.last + 1 == sequence
    }

    /// The number that the next record gets, at least.
    var nextNumber: UInt64 {
        writer != nil && canMoveTail(position.next) ? position.next - position.tailHole : position.next
    }

    /// Moves them up by one.
    ///
    /// - Returns: the number that is free.
    mutating func moveTail(_ sequence: UInt64) -> UInt64 {
        let first = sequence - position.tailHole
        holes[holes.count - 1] = (first + 1)..<(sequence + 1)
        position.moveLastLoss(behind: first, by: 1)
        // It may have passed over them already.
        cursor = min(cursor, first)
        return first
    }

    /// The oldest loss. Its numbers stay as they are from now on.
    mutating func firstLoss() -> SpoolLoss? {
        guard let loss = position.losses.first else { return nil }
        if writer != nil, position.tailHole > 0, loss.last + position.tailHole >= position.next { endFile() }
        return loss
    }

    /// Finds the numbers of those that found no room where they have moved to since the position was written.
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
        if position.losses.last?.last == position.next - 1 { position.moveLastLoss(behind: former, by: first - former) }
        if later == nil { position.next += first - former }
    }
}

extension Position {
    /// The last loss ends with numbers that move up.
    ///
    /// - Parameter first: the first of these numbers; the loss can begin before, if several were merged.
    fileprivate mutating func moveLastLoss(behind first: UInt64, by count: UInt64) {
        guard let last = losses.indices.last, losses[last].first <= first else { return }
        if losses[last].first == first { losses[last].first += count }
        losses[last].last += count
    }
}
