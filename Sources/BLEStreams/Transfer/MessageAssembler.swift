/// Assembles chunks into messages; a value without time or I/O.
///
/// After each chunk, take messages until there are none. The work is linear in what the peer sends: an octet is
/// compared once for each octet of the mark, and copied twice at most.
struct MessageAssembler {
    /// No further message is possible.
    struct TooLong: Error, Equatable {
        /// The received part of the message.
        var received: [UInt8]
    }

    private let rule: EndMark.Rule
    private let maximumSize: Int
    private var buffer: [UInt8] = []
    /// Where the current message begins in `buffer`.
    private var start = 0
    /// How far `buffer` has been searched for a delimiter.
    private var searched = 0
    /// Whether the chunk that is the mark has arrived.
    private var isMarked = false

    init(_ mark: EndMark, maximumSize: Int) {
        rule = mark.rule
        self.maximumSize = maximumSize
    }

    /// The octets that belong to no complete message yet.
    var unfinished: [UInt8]? { start == buffer.count ? nil : Array(buffer[start...]) }

    /// How many octets belong to no complete message yet.
    var unfinishedCount: Int { buffer.count - start }

    /// Adds a chunk.
    mutating func append(_ chunk: some Collection<UInt8>) {
        if case .ownChunk(let mark) = rule, chunk.elementsEqual(mark) {
            isMarked = true
            return
        }
        // What remains follows the last mark, so it came with the last chunk: there is little to move.
        buffer.removeFirst(start)
        searched -= start
        start = 0
        buffer.append(contentsOf: chunk)
    }

    /// The next complete message, if there is one.
    ///
    /// - Throws: `TooLong` if the current message is too long; those before it have been returned.
    mutating func next() throws(TooLong) -> [UInt8]? {
        switch rule {
        case .endOfChunk(let mark): try next(endingWith: mark)
        case .ownChunk: try nextMarked()
        case .delimiter(let mark): try next(before: mark)
        case .lengthPrefix(let octets, let order): try next(behindLengthOf: octets, order)
        }
    }

    /// Drops the current message.
    mutating func reset() { self = MessageAssembler(EndMark(rule: rule), maximumSize: maximumSize) }

    private func check(_ size: Int) throws(TooLong) {
        if size > maximumSize { throw TooLong(received: Array(buffer[start...])) }
    }

    private mutating func takeAll() -> [UInt8] {
        defer { buffer = [] }
        return buffer
    }

    private mutating func next(endingWith mark: [UInt8]) throws(TooLong) -> [UInt8]? {
        guard buffer.count >= mark.count, buffer[(buffer.count - mark.count)...].elementsEqual(mark) else {
            // The tail may still be the beginning of the mark.
            try check(buffer.count - (mark.count - 1))
            return nil
        }
        try check(buffer.count - mark.count)
        buffer.removeLast(mark.count)
        return takeAll()
    }

    private mutating func nextMarked() throws(TooLong) -> [UInt8]? {
        try check(buffer.count)
        guard isMarked else { return nil }
        isMarked = false
        return takeAll()
    }

    private mutating func next(before mark: [UInt8]) throws(TooLong) -> [UInt8]? {
        while searched + mark.count <= buffer.count {
            let candidate = buffer[searched..<searched + mark.count]
            guard candidate.first == mark.first, candidate.elementsEqual(mark) else {
                searched += 1
                continue
            }
            try check(searched - start)
            defer {
                searched += mark.count
                start = searched
            }
            return Array(buffer[start..<searched])
        }
        try check(searched - start)
        return nil
    }

    private mutating func next(
        behindLengthOf octets: Int,
        _ order: EndMark.ByteOrder
    ) throws(TooLong) -> [UInt8]? {
        guard buffer.count - start >= octets else { return nil }
        var length: UInt64 = 0
        for index in 0..<octets {
            let place = order == .bigEndian ? index : octets - 1 - index
            length = length << 8 | UInt64(buffer[start + place])
        }
        // Compared before the conversion: a peer may send any number.
        guard length <= UInt64(maximumSize) else { throw TooLong(received: Array(buffer[start...])) }
        // Compared before the addition: without a maximum, the end is beyond any number.
        guard buffer.count - start - octets >= Int(length) else { return nil }
        let end = start + octets + Int(length)
        defer { start = end }
        return Array(buffer[(start + octets)..<end])
    }
}
