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
    /// Whether it drops the rest of a message that was given up: then add chunks with ``skip(_:)``.
    private(set) var isSkipping = false

    init(_ mark: EndMark, maximumSize: Int) {
        rule = mark.rule
        self.maximumSize = maximumSize
    }

    /// The octets that belong to no complete message yet.
    var unfinished: [UInt8]? { isSkipping || start == buffer.count ? nil : Array(buffer[start...]) }

    /// How many octets belong to no complete message yet, or may be the beginning of the mark behind one that is
    /// skipped.
    var unfinishedCount: Int { buffer.count - start }

    /// How many octets at the end another assembler needs to go on from here: while this one skips, only those that
    /// begin the mark.
    var neededCount: Int {
        guard isSkipping else { return unfinishedCount }
        switch rule {
        case .delimiter(let mark), .endOfChunk(let mark):
            let rest = buffer[start...]
            return (0..<mark.count).last { rest.suffix($0).elementsEqual(mark.prefix($0)) } ?? 0
        case .ownChunk, .lengthPrefix: return 0
        }
    }

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

    // MARK: - The rest of a message

    /// Whether the beginning of the next message is found from the middle of one.
    var findsNext: Bool { if case .lengthPrefix = rule { false } else { true } }

    /// Gives up the current message, and drops what follows of it up to its end, unless that is here already.
    ///
    /// It keeps no more than what follows the end, or the octets that may be the beginning of the mark.
    mutating func skip() {
        switch rule {
        case .ownChunk:
            isSkipping = !isMarked
            isMarked = false
            keepLast(0)
        case .endOfChunk(let mark):
            isSkipping = !buffer.suffix(mark.count).elementsEqual(mark)
            keepLast(isSkipping ? mark.count - 1 : 0)
        case .delimiter(let mark):
            isSkipping = true
            while isSkipping, searched + mark.count <= buffer.count {
                isSkipping = !buffer[searched..<searched + mark.count].elementsEqual(mark)
                searched += isSkipping ? 1 : mark.count
            }
            keepLast(isSkipping ? mark.count - 1 : buffer.count - searched)
        case .lengthPrefix:
            isSkipping = true
            keepLast(0)
        }
    }

    /// Adds a chunk while it skips.
    mutating func skip(_ chunk: some Collection<UInt8>) {
        append(chunk)
        skip()
    }

    /// Drops what it has; if it begins in the middle of a message, also the rest of that.
    mutating func restart(inMessage: Bool) {
        reset()
        if inMessage { skip() }
    }

    /// Drops all octets but so many of the current message, at its end.
    private mutating func keepLast(_ count: Int) {
        buffer.removeFirst(buffer.count - min(count, unfinishedCount))
        (start, searched) = (0, 0)
    }

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
