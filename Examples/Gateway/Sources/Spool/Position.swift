import Glibc

/// What a spool knows besides its segments, as it is kept on disk.
struct Position: Hashable {
    /// Records below were acknowledged or dropped.
    var head: UInt64 = 1
    /// How many of the records below `head` were dropped.
    var dropped: UInt64 = 0
    /// How many records found no room, in all.
    var refused: UInt64 = 0
    /// The number after the last one that a record has, stored or refused; on disk, it may be a lower one.
    var next: UInt64 = 1
    /// Records from here on were never handed out.
    var offered: UInt64 = 1
    /// How often the spool was opened.
    var epoch: UInt64 = 0
    /// How many of the last records found no room, or are gone since; they are part of a loss already.
    var tailHole: UInt64 = 0
    /// Losses that nobody was told of.
    var losses: [SpoolLoss] = []
    /// Records from `head` on that are gone and part of a loss, without those of `tailHole`. Only on disk: a spool that
    /// is open has ``SpoolCore/holes``.
    var gaps: [Range<UInt64>] = []

    /// More losses are merged with the last one.
    static let lossLimit = 64
    /// Where more gaps would have to be kept, records are dropped only when those before them are settled.
    static let gapLimit = 128

    /// Records a loss.
    mutating func lost(_ first: UInt64, _ last: UInt64, _ count: Int) {
        guard count > 0 else { return }
        if let end = losses.indices.last, losses[end].last + 1 == first || losses.count == Self.lossLimit {
            losses[end].first = min(losses[end].first, first)
            losses[end].last = max(losses[end].last, last)
            losses[end].count += count
        } else {
            losses.append(SpoolLoss(first: first, last: last, count: count))
        }
    }

    /// Records a loss before all others: the numbers of the last one can still move.
    mutating func lostBefore(_ first: UInt64, _ last: UInt64, _ count: Int) {
        guard losses.count == Self.lossLimit else {
            return losses.insert(SpoolLoss(first: first, last: last, count: count), at: 0)
        }
        losses[0].first = min(losses[0].first, first)
        losses[0].last = max(losses[0].last, last)
        losses[0].count += count
    }
}

extension Position {
    static let format = FormatName(number: 0x3230_5350_454C_4231)
    /// The most that it has; what is not used of that is zero.
    static let size = length(losses: lossLimit, gaps: gapLimit)
    /// The version before this one has no gaps, and room for all losses.
    private static let formerFormat = FormatName(number: 0x3130_5350_454C_4231)
    static let formerSize = 8 * (10 + 3 * lossLimit) + 4

    /// The position as octets with a checksum.
    func encoded(generation: UInt64) -> [UInt8] {
        var writer = OctetWriter()
        let keptGaps = gaps.prefix(Self.gapLimit)
        let numbers = [head, dropped, refused, next, offered, epoch, tailHole, UInt64(losses.count)]
        for number in [Self.format.number, generation] + numbers + [UInt64(keptGaps.count)] { writer.add(number) }
        for loss in losses {
            writer.add(loss.first)
            writer.add(loss.last)
            writer.add(UInt64(loss.count))
        }
        for gap in keptGaps {
            writer.add(gap.lowerBound)
            writer.add(gap.upperBound)
        }
        writer.add(CRC32C.checksum(writer.octets))
        return writer.octets + [UInt8](repeating: 0, count: Self.size - writer.octets.count)
    }

    /// A position and its generation; `nil` if the octets are not a whole position, of this version or the one before.
    static func decoded(_ octets: [UInt8]) -> (generation: UInt64, position: Position)? {
        octets.withUnsafeBytes { octets -> (generation: UInt64, position: Position)? in
            if let used = length(of: octets), isWhole(octets, used, format) {
                return (octets.uint64(at: 8), Position(octets, lossOffset: 8 * 11, gaps: Int(octets.uint64(at: 80))))
            }
            guard isWhole(octets, formerSize, formerFormat) else { return nil }
            return (octets.uint64(at: 8), Position(octets, lossOffset: 8 * 10, gaps: 0))
        }
    }

    /// How many octets of these are used, with the checksum; `nil` if they can't be a position of this version.
    static func length(of octets: UnsafeRawBufferPointer) -> Int? {
        guard octets.count >= 8 * 11 else { return nil }
        let (losses, gaps) = (octets.uint64(at: 72), octets.uint64(at: 80))
        guard losses <= UInt64(lossLimit), gaps <= UInt64(gapLimit) else { return nil }
        return length(losses: Int(losses), gaps: Int(gaps))
    }

    private static func length(losses: Int, gaps: Int) -> Int { 8 * (11 + 3 * losses + 2 * gaps) + 4 }

    private static func isWhole(_ octets: UnsafeRawBufferPointer, _ size: Int, _ format: FormatName) -> Bool {
        guard octets.count >= size, octets.uint64(at: 0) == format.number else { return false }
        let body = UnsafeRawBufferPointer(rebasing: octets[..<(size - 4)])
        return CRC32C.checksum(body) == octets.uint32(at: size - 4)
    }

    /// Reads octets that are whole.
    private init(_ octets: UnsafeRawBufferPointer, lossOffset: Int, gaps gapCount: Int) {
        let numbers = (0..<10).map { octets.uint64(at: 8 * $0) }
        (head, dropped, refused, next) = (numbers[2], numbers[3], numbers[4], numbers[5])
        (offered, epoch, tailHole) = (numbers[6], numbers[7], numbers[8])
        let lossCount = Int(min(numbers[9], UInt64(Self.lossLimit)))
        losses = (0..<lossCount).map { index in
            let offset = lossOffset + 24 * index
            return SpoolLoss(
                first: octets.uint64(at: offset),
                last: octets.uint64(at: offset + 8),
                count: Int(clamping: octets.uint64(at: offset + 16))
            )
        }
        gaps = (0..<gapCount).compactMap { index in
            let offset = lossOffset + 24 * lossCount + 16 * index
            let (first, end) = (octets.uint64(at: offset), octets.uint64(at: offset + 8))
            return first < end ? first..<end : nil
        }
    }
}

/// The file of the position: two places that are written in turn, so that a torn write leaves the other one. The
/// places exist from the start, so a full disk doesn't keep the position from being written.
struct PositionFile {
    private static let distance = 4096

    private let file: File
    private let disk: Disk
    private var generation: UInt64 = 0

    static let name = "position"
    /// The file that has the position, too, while there are no segments.
    static let copyName = "position.copy"

    /// Opens the file, and creates it if needed; the position is `nil` if none can be read.
    static func open(
        _ name: String,
        in folder: String,
        _ disk: Disk
    ) throws(SpoolError) -> (file: PositionFile, position: Position?) {
        var result = PositionFile(file: try File("\(folder)/\(name)", O_RDWR | O_CREAT), disk: disk)
        var newest: (generation: UInt64, position: Position)?
        for place in 0..<2 {
            let octets = try result.file.read(Position.size, at: place * distance)
            let length = octets.withUnsafeBytes { Position.length(of: $0) } ?? Position.size
            if Position.format.isNewer(in: octets, size: length) { throw .newerVersion(result.file.path) }
            guard let found = Position.decoded(octets), found.generation > newest?.generation ?? 0 else { continue }
            newest = found
        }
        result.generation = newest?.generation ?? 0
        // Both places: from now on there is always one to fall back to.
        for _ in 0..<2 where newest == nil { try result.write(Position()) }
        return (result, newest?.position)
    }

    private init(file: File, disk: Disk) {
        self.file = file
        self.disk = disk
    }

    /// Writes the position; a loss of power can lose it until it is synchronised.
    mutating func write(_ position: Position, synchronised: Bool = false) throws(SpoolError) {
        let octets = position.encoded(generation: generation + 1)
        try disk.writeAll(octets, to: file.descriptor, at: Int(generation % 2) * Self.distance, file.path)
        generation += 1
        if synchronised { try disk.synchronise(file.descriptor, file.path) }
    }
}
