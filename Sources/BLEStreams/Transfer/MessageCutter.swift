/// Cuts a message into chunks so that a receiver finds its end only in the last one.
enum MessageCutter {
    /// Why a message can't be sent with its end mark.
    enum Refusal: Error, Equatable {
        /// The mark doesn't fit into a chunk.
        case markTooLong(octets: Int, limit: Int)
        /// However the message is cut, data would look like the mark.
        case looksLikeMark
        /// The delimiter occurs here, before the end of the message.
        case containsMark(at: Int)
        /// Its length doesn't fit into the length prefix.
        case tooLong(lengthOctets: Int)
    }

    /// The chunks, in order, none of them empty; the end mark is the last one or a part of it.
    ///
    /// - Parameter limit: the longest chunk, 20 octets or more, which the smallest MTU allows.
    static func chunks(
        of message: [UInt8],
        endingWith mark: EndMark,
        limit: Int
    ) throws(Refusal) -> [ArraySlice<UInt8>] {
        switch mark.rule {
        case .ownChunk(let mark): try chunks(of: message, closedBy: mark, limit)
        case .endOfChunk(let mark): try chunks(of: message, endingIn: mark, limit)
        case .delimiter(let mark): try chunks(of: message, before: mark, limit)
        case .lengthPrefix(let octets, let order): try chunks(of: message, behindLengthOf: octets, order, limit)
        }
    }

    /// No chunk of data equals the mark: one that would is an octet shorter, and the next one begins with that octet.
    private static func chunks(
        of message: [UInt8],
        closedBy mark: [UInt8],
        _ limit: Int
    ) throws(Refusal) -> [ArraySlice<UInt8>] {
        guard mark.count <= limit else { throw .markTooLong(octets: mark.count, limit: limit) }
        var chunks: [ArraySlice<UInt8>] = []
        var rest = message[...]
        while !rest.isEmpty {
            var count = min(limit, rest.count)
            // A mark of one octet can't be cut: an octet equal to it must not remain alone.
            let leavesMark = rest.count == count + 1 && rest.suffix(1).elementsEqual(mark)
            if count > 1, leavesMark || rest.prefix(count).elementsEqual(mark) { count -= 1 }
            let chunk = rest.prefix(count)
            guard !chunk.elementsEqual(mark) else { throw .looksLikeMark }
            chunks.append(chunk)
            rest = rest.dropFirst(count)
        }
        return chunks + [mark[...]]
    }

    /// The message followed by the mark, never cut after octets that end in the mark except at the end; the mark itself
    /// stays whole, for receivers that compare single chunks.
    private static func chunks(
        of message: [UInt8],
        endingIn mark: [UInt8],
        _ limit: Int
    ) throws(Refusal) -> [ArraySlice<UInt8>] {
        guard mark.count <= limit else { throw .markTooLong(octets: mark.count, limit: limit) }
        let octets = message + mark
        func mayCut(at place: Int) -> Bool {
            if place == octets.count { return true }
            return place <= message.count && !octets[..<place].suffix(mark.count).elementsEqual(mark)
        }
        var chunks: [ArraySlice<UInt8>] = []
        var start = 0
        while start < octets.count {
            // The farthest place is the best: it reaches every place that a nearer one reaches.
            var end = min(start + limit, octets.count)
            while end > start, !mayCut(at: end) { end -= 1 }
            guard end > start else { throw .looksLikeMark }
            chunks.append(octets[start..<end])
            start = end
        }
        return chunks
    }

    private static func chunks(
        of message: [UInt8],
        before mark: [UInt8],
        _ limit: Int
    ) throws(Refusal) -> [ArraySlice<UInt8>] {
        let octets = message + mark
        // The end of the message and the beginning of the mark may together form a mark.
        for place in octets.indices where octets[place] == mark[0] && octets[place...].starts(with: mark) {
            guard place == message.count else { throw .containsMark(at: place) }
            break
        }
        return pieces(of: octets, limit)
    }

    private static func chunks(
        of message: [UInt8],
        behindLengthOf octets: Int,
        _ order: EndMark.ByteOrder,
        _ limit: Int
    ) throws(Refusal) -> [ArraySlice<UInt8>] {
        guard octets == 8 || UInt64(message.count) >> (8 * UInt64(octets)) == 0 else {
            throw .tooLong(lengthOctets: octets)
        }
        let length = (0..<octets).map { UInt8(truncatingIfNeeded: UInt64(message.count) >> (8 * UInt64($0))) }
        return pieces(of: (order == .littleEndian ? length : length.reversed()) + message, limit)
    }

    private static func pieces(of octets: [UInt8], _ limit: Int) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: octets.count, by: limit).map { octets[$0..<min($0 + limit, octets.count)] }
    }
}
