import Glibc

extension SpoolCore {
    /// Opens the spool in a folder, and recovers what is in it.
    static func open(_ settings: SpoolSettings, _ disk: Disk) throws(SpoolError) -> SpoolCore {
        try settings.check()
        if mkdir(settings.folder, 0o700) != 0, errno != EEXIST {
            let number = errno
            var error = SpoolError("create the folder", settings.folder, errno: number)
            if number == ENOENT { error.remedy = "Make the folder that it is to be in, or mount the disk that has it." }
            throw error
        }
        let lock = try FolderLock(settings.folder)
        let (positionFile, known) = try PositionFile.open(PositionFile.name, in: settings.folder, disk)
        // The spool does without it, on a disk that has no room for it.
        let copy = try? PositionFile.open(PositionFile.copyName, in: settings.folder, disk)
        // The folder may be new even if it exists: an earlier opening may have made it and been cut off. A parent that
        // can't be read can't be synchronised, though the spool may be able to work in it.
        if known?.epoch ?? 0 == 0 { try? disk.synchroniseFolder(settings.parent) }
        var core = SpoolCore(settings, disk, lock, positionFile, known ?? Position())
        core.positionCopy = copy?.file
        try core.recoverSegments(isPositionLost: known == nil, copy: copy?.position)
        core.cursor = core.position.head
        core.position.epoch += 1
        do {
            try core.writePosition(synchronised: true)
        } catch {
            // Nobody was told that it is new: the next opening is to find that, too.
            let names = core.isNew ? [PositionFile.name, PositionFile.copyName] : []
            for name in names { unlink("\(settings.folder)/\(name)") }
            throw error
        }
        return core
    }

    private init(
        _ settings: SpoolSettings,
        _ disk: Disk,
        _ lock: FolderLock,
        _ positionFile: PositionFile,
        _ position: Position
    ) {
        self.settings = settings
        self.disk = disk
        self.lock = lock
        self.positionFile = positionFile
        self.position = position
        cursor = position.head
        handedOut = position.offered
    }

    /// Finds the segments, and counts what is missing.
    ///
    /// - Parameter copy: the position when there were no segments last.
    private mutating func recoverSegments(isPositionLost: Bool, copy: Position?) throws(SpoolError) {
        let numbers = try settings.segmentNumbers(disk)
        // An opening that failed may have left a position without a number.
        isNew = max(position.epoch, copy?.epoch ?? 0) == 0 && numbers.isEmpty
        // Before anything is removed.
        for first in numbers { try Segment.check(try File("\(settings.folder)/\(Segment.name(first))", O_RDONLY)) }
        for first in numbers {
            let path = "\(settings.folder)/\(Segment.name(first))"
            if let segment = try Segment(reading: try File(path, O_RDONLY), first: first) {
                // The records of a file end where the next file begins.
                if let last = segments.indices.last {
                    segments[last].end = max(segments[last].first, first - min(segment.hole, first))
                }
                if segment.hole > 0 { holes.append((first - min(segment.hole, first))..<first) }
                segments.append(segment)
            } else {
                unlink(path)
            }
        }
        let refused = position.tailHole
        if let last = segments.indices.last { try recoverTail(last) }
        recoverTailHole(refused)
        if isPositionLost { recoverPosition(copy) }
        position.epoch = max(position.epoch, segments.map(\.epoch).max() ?? 0)
        let recovered = segments.last?.end ?? 1
        position.next = max(position.next, recovered, position.head)
        recoverHoles(from: max(recovered, position.head))
        // Numbers beyond were never given away.
        handedOut = min(handedOut, position.next)
        settle()
        removeFinished()
    }

    /// Numbers that were given away and have no record: they found no room, or a loss of power took them.
    private mutating func recoverHoles(from recovered: UInt64) {
        let (known, gaps) = (holes, position.gaps)
        (holes, position.gaps) = ([], [])
        for hole in known where hole.upperBound > position.head {
            addHole(max(hole.lowerBound, position.head)..<hole.upperBound)
        }
        for gap in gaps {
            for part in gap.clamped(to: position.head..<recovered).subtracting(holes) { addHole(part) }
        }
        if let first = segments.first.map({ $0.first - min($0.hole, $0.first) }), first > position.head {
            for part in (position.head..<first).subtracting(holes) { lost(part) }
        }
        let reported = position.next - min(position.tailHole, position.next - recovered)
        // Those of a gap are part of a loss already.
        for part in (recovered..<reported).subtracting(gaps) {
            position.lost(part.lowerBound, part.upperBound - 1, part.count)
        }
        addHole(recovered..<position.next)
        // All of them are part of a loss now: the next opening, and the next file, must know.
        position.tailHole = position.next - recovered
    }

    /// The last segment may end with a record that is not whole.
    private mutating func recoverTail(_ index: Int) throws(SpoolError) {
        var reader = try SegmentReader(segments[index], in: settings.folder)
        while try reader.next() != nil {}
        segments[index].end = reader.sequence
        if reader.offset < segments[index].size {
            truncate(path(of: segments[index]), off_t(reader.offset))
            segments[index].size = reader.offset
        }
        // The process before may have been killed without: `flush` is to mean all records.
        let file = try File(path(of: segments[index]), O_RDONLY)
        try disk.synchronise(file.descriptor, file.path)
        if segments[index].first == segments[index].end {
            // Nothing is behind the gap before it, which is then found as the end of all.
            if segments[index].hole > 0 { holes.removeLast() }
            position.tailHole = max(position.tailHole, segments[index].hole)
            unlink(path(of: segments[index]))
            segments.remove(at: index)
        }
    }

    /// The position can't be read: whatever is there is handed out again. If nothing is there, the numbers go on.
    private mutating func recoverPosition(_ copy: Position?) {
        guard let first = segments.first, let last = segments.last else {
            if let copy { (position, handedOut) = (copy, copy.offered) }
            return
        }
        position.head = first.first
        position.dropped = min(first.dropped, first.first - 1)
        position.offered = last.end
        handedOut = last.end
    }
}

extension Range<UInt64> {
    /// What is in none of the other ranges, in order.
    fileprivate func subtracting(_ others: [Range<UInt64>]) -> [Range<UInt64>] {
        var parts: [Range<UInt64>] = []
        var start = lowerBound
        for other in others.sorted(by: { $0.lowerBound < $1.lowerBound }) where other.overlaps(self) {
            if start < other.lowerBound { parts.append(start..<other.lowerBound) }
            start = Swift.max(start, other.upperBound)
        }
        if start < upperBound { parts.append(start..<upperBound) }
        return parts
    }
}

extension SpoolSettings {
    /// The folder that has the spool's folder.
    fileprivate var parent: String {
        var rest = folder[...]
        while rest.last == "/" { rest.removeLast() }
        guard let slash = rest.lastIndex(of: "/") else { return rest.isEmpty ? "/" : "." }
        return slash == rest.startIndex ? "/" : String(rest[..<slash])
    }

    fileprivate func check() throws(SpoolError) {
        let cause: String? =
            if folder.isEmpty {
                "no folder is given"
            } else if limit < Self.smallestLimit {
                "\(limit) octets are less than \(Self.smallestLimit)"
            } else if recordsPerSync < 1 {
                "records can't be synchronised every \(recordsPerSync) records"
            } else {
                nil
            }
        guard let cause else { return }
        throw SpoolError(
            code: .invalidSettings,
            operation: "open",
            object: folder,
            cause: cause,
            remedy: "Correct the settings."
        )
    }

    /// The numbers by which the files of segments are named, in order.
    ///
    /// - Throws: ``SpoolError`` if the folder can't be read to its end: the records of the remaining files would count
    ///   as lost.
    fileprivate func segmentNumbers(_ disk: Disk) throws(SpoolError) -> [UInt64] {
        guard let directory = opendir(folder) else { throw SpoolError("list", folder, errno: errno) }
        defer { closedir(directory) }
        var numbers: [UInt64] = []
        while true {
            // The end of a folder leaves the number as it is.
            errno = 0
            guard let entry = disk.nextEntry(directory) else {
                guard errno == 0 else { throw SpoolError("list", folder, errno: errno) }
                return numbers.sorted()
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if let number = Segment.first(name: name) { numbers.append(number) }
        }
    }
}
