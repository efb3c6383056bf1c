import Glibc

/// A file of records: a header, then each record as its length, its checksum and its octets.
struct Segment: Hashable {
    static let headerSize = 8 * 5 + 4
    static let recordHeaderSize = 8
    /// What a small file occupies on most file systems.
    static let smallestFile = 4096
    private static let format = FormatName(number: 0x3130_4745_5345_4C42)

    /// The number of the first record.
    var first: UInt64
    /// The number after the last record that the file should contain.
    var end: UInt64
    /// The epoch of its records.
    var epoch: UInt64
    /// How many records had been dropped when it was begun; tells the count if the position is lost.
    var dropped: UInt64
    /// How many records before the first one found no room.
    var hole: UInt64
    /// The size of the file.
    var size: Int

    /// What it counts towards the limit.
    var occupied: Int { max(size, Self.smallestFile) }

    /// The name of the file of a segment.
    static func name(_ first: UInt64) -> String {
        let digits = String(first)
        return String(repeating: "0", count: 20 - digits.count) + digits + ".segment"
    }

    /// The number of the first record, by the name of the file.
    static func first(name: String) -> UInt64? {
        guard name.hasSuffix(".segment"), name.utf8.count == 28, let first = UInt64(name.prefix(20)), first > 0 else {
            return nil
        }
        return first
    }

    /// The header as octets.
    var header: [UInt8] {
        var writer = OctetWriter()
        for number in [Self.format.number, first, epoch, dropped, hole] { writer.add(number) }
        writer.add(CRC32C.checksum(writer.octets))
        return writer.octets
    }

    /// Checks that no newer version has written a file.
    static func check(_ file: File) throws(SpoolError) {
        let octets = try file.read(headerSize, at: 0)
        if format.isNewer(in: octets, size: headerSize) { throw .newerVersion(file.path) }
    }

    /// Reads the header of a file; `nil` if it is not whole.
    init?(reading file: File, first: UInt64) throws(SpoolError) {
        let octets = try file.read(Self.headerSize, at: 0)
        guard octets.count == Self.headerSize else { return nil }
        let numbers = octets.withUnsafeBytes { octets -> [UInt64]? in
            let body = UnsafeRawBufferPointer(rebasing: octets[..<(Self.headerSize - 4)])
            guard CRC32C.checksum(body) == octets.uint32(at: Self.headerSize - 4) else { return nil }
            return (0..<5).map { octets.uint64(at: 8 * $0) }
        }
        guard let numbers, numbers[0] == Self.format.number, numbers[1] == first else { return nil }
        self.init(
            first: first,
            end: first,
            epoch: numbers[2],
            dropped: numbers[3],
            hole: numbers[4],
            size: try file.size()
        )
    }

    init(first: UInt64, end: UInt64, epoch: UInt64, dropped: UInt64, hole: UInt64, size: Int) {
        self.first = first
        self.end = end
        self.epoch = epoch
        self.dropped = dropped
        self.hole = hole
        self.size = size
    }

    /// A record as it is written.
    static func framed(_ payload: [UInt8]) -> [UInt8] {
        var writer = OctetWriter()
        writer.add(UInt32(payload.count))
        writer.add(checksum(payload))
        return writer.octets + payload
    }

    /// The checksum that is written with a record. An empty one doesn't have 0, the CRC of no octets: a loss of power
    /// can leave zeros where a file was being made longer, and eight of them would be a record.
    static func checksum(_ payload: [UInt8]) -> UInt32 { payload.isEmpty ? .max : CRC32C.checksum(payload) }
}

/// Reads the records of a segment one after the other.
struct SegmentReader {
    private static let readAhead = 64 << 10

    let first: UInt64
    private let file: File
    /// The number of the record that is read next.
    private(set) var sequence: UInt64
    /// Where it begins in the file.
    private(set) var offset = Segment.headerSize
    private var buffer: [UInt8] = []
    private var bufferOffset = 0

    init(_ segment: Segment, in folder: String) throws(SpoolError) {
        file = try File("\(folder)/\(Segment.name(segment.first))", O_RDONLY)
        first = segment.first
        sequence = segment.first
    }

    /// The next record; `nil` if there is none, or it is not whole.
    mutating func next() throws(SpoolError) -> [UInt8]? {
        guard let header = try octets(Segment.recordHeaderSize, at: offset) else { return nil }
        let (length, checksum) = header.withUnsafeBytes { ($0.uint32(at: 0), $0.uint32(at: 4)) }
        guard length <= UInt32(Spool.largestRecord) else { return nil }
        let start = offset + Segment.recordHeaderSize
        guard let payload = try octets(Int(length), at: start), Segment.checksum(payload) == checksum
        else { return nil }
        offset = start + payload.count
        sequence += 1
        return payload
    }

    private mutating func octets(_ count: Int, at offset: Int) throws(SpoolError) -> [UInt8]? {
        if offset < bufferOffset || offset + count > bufferOffset + buffer.count {
            buffer = try file.read(max(count, Self.readAhead), at: offset)
            bufferOffset = offset
        }
        let start = offset - bufferOffset
        guard start + count <= buffer.count else { return nil }
        return Array(buffer[start..<(start + count)])
    }
}

/// Appends records to a new segment.
struct SegmentWriter {
    private let file: File
    private let disk: Disk

    /// Creates the file. A file of that name that is there contains no whole record, and is replaced.
    init(_ segment: Segment, in folder: String, _ disk: Disk) throws(SpoolError) {
        let path = "\(folder)/\(Segment.name(segment.first))"
        self.disk = disk
        file = try File(path, O_RDWR | O_CREAT | O_TRUNC)
        do {
            try disk.writeAll(segment.header, to: file.descriptor, at: 0, path)
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Writes a record at an offset; if that fails, the file is as before, or ends with a record that is not whole.
    func write(_ record: [UInt8], at offset: Int) throws(SpoolError) {
        do {
            try disk.writeAll(record, to: file.descriptor, at: offset, file.path)
        } catch {
            ftruncate(file.descriptor, off_t(offset))
            throw error
        }
    }

    /// Whether the file has this size: a record that was not written whole may be behind it, if it couldn't be cut off.
    func hasSize(_ size: Int) -> Bool { (try? file.size()) == size }

    func synchronise() throws(SpoolError) { try disk.synchronise(file.descriptor, file.path) }
}
