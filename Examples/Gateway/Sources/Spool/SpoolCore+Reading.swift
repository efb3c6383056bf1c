/// Handing out records.
extension SpoolCore {
    mutating func next() throws(SpoolError) -> SpoolRecord? {
        while max(cursor, position.head) < position.next {
            cursor = max(cursor, position.head)
            if let hole = holes.first(where: { $0.contains(cursor) }) {
                cursor = hole.upperBound
            } else if acknowledged.contains(cursor) || givenUp.contains(cursor) {
                cursor += 1
            } else if let segment = segments.first(where: { $0.first <= cursor && cursor < $0.end }) {
                if let payload = try readIfThere(segment) { return try handOut(payload, segment.epoch) }
            } else {
                missing(cursor..<(segments.first { $0.first > cursor }?.first ?? position.next))
            }
        }
        return nil
    }

    /// The same as ``read(_:)``, and the file may be gone: someone has removed it, or the disk has lost it.
    private mutating func readIfThere(_ segment: Segment) throws(SpoolError) -> [UInt8]? {
        do {
            return try read(segment)
        } catch {
            guard error.isDamage else { throw error }
            missing(cursor..<segment.end)
            return nil
        }
    }

    /// The record at the cursor; `nil` if it can't be read, in which case it and the rest of its segment are lost.
    private mutating func read(_ segment: Segment) throws(SpoolError) -> [UInt8]? {
        if reader == nil || reader?.first != segment.first || cursor < reader?.sequence ?? 0 {
            reader = try SegmentReader(segment, in: settings.folder)
        }
        while let sequence = reader?.sequence, sequence <= cursor {
            guard let payload = try reader?.next() else {
                // Those before the cursor were whole when they were read first.
                missing(max(sequence, position.head)..<segment.end)
                return nil
            }
            if sequence == cursor { return payload }
        }
        return nil
    }

    private mutating func handOut(_ payload: [UInt8], _ epoch: UInt64) throws(SpoolError) -> SpoolRecord {
        let isRedelivered = cursor < handedOut
        if cursor >= position.offered {
            // On disk before the record leaves: after a loss of power it must be marked.
            let former = position.offered
            position.offered = cursor + Self.reserved
            do {
                try writePosition(synchronised: true)
            } catch {
                // The next attempt must write it, too.
                position.offered = former
                throw error
            }
        }
        defer {
            cursor += 1
            handedOut = max(handedOut, cursor)
        }
        return SpoolRecord(sequence: cursor, epoch: epoch, isRedelivered: isRedelivered, payload: payload)
    }

    /// Records that should be there and are not.
    private mutating func missing(_ range: Range<UInt64>) {
        var start = range.lowerBound
        for number in range where acknowledged.contains(number) || holes.contains(where: { $0.contains(number) }) {
            gone(start..<number)
            start = number + 1
        }
        if start < range.upperBound { gone(start..<range.upperBound) }
        if let index = segments.firstIndex(where: { $0.first <= range.lowerBound && range.lowerBound < $0.end }) {
            segments[index].end = range.lowerBound
            // What is appended to a damaged file could not be read again.
            if index == segments.indices.last { writer = nil }
        }
        reader = nil
        settle()
        try? writePosition()
    }

    /// Records are gone that were not known to be, and others before them may wait.
    private mutating func gone(_ range: Range<UInt64>) {
        guard range.contains(position.head) || hasRoomForGap else { return givenUp.formUnion(range) }
        lost(range)
    }

    /// Records are gone that were not known to be.
    mutating func lost(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        if !givenUp.isEmpty { givenUp = givenUp.filter { !range.contains($0) } }
        position.lost(range.lowerBound, range.upperBound - 1, range.count)
        addHole(range)
    }

    /// No acknowledgement comes any more for records that were dropped after they had been handed out.
    mutating func giveUpLate() {
        if let first = late.min(), let last = late.max() { position.lost(first, last, late.count) }
        late = []
    }

    /// The records that are not acknowledged are handed out again.
    mutating func rewind() {
        cursor = position.head
        giveUpLate()
        reader = nil
    }
}
