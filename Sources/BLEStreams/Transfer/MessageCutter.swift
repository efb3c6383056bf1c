/// Cuts a message into chunks of which only the last one ends the message for whoever receives them.
enum MessageCutter {
    /// Why a message can't be sent with its end mark.
    enum Refusal: Error, Equatable {
        /// The mark doesn't fit into a chunk.
        case markTooLong(octets: Int, limit: Int)
        /// However it is cut, data would be taken for the mark.
        case looksLikeMark
        /// The delimiter would be found here, before the message's end.
        case containsMark(at: Int)
        /// The number of its octets has no room in the length in front of it.
        case tooLong(lengthOctets: Int)
    }

    /// The chunks, in order, none of them empty; the end mark is part of the last one, or is the last one.
    ///
    /// - Parameter limit: the longest chunk, 20 octets or more: what the smallest MTU has room for.
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

    /// No chunk of data is the mark: one that would be is shorter by an octet, with which the next one begins.
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
            // A mark of one octet can't be cut: it must not be all that is left.
            let leavesMark = rest.count == count + 1 && rest.suffix(1).elementsEqual(mark)
            if count > 1, leavesMark || rest.prefix(count).elementsEqual(mark) { count -= 1 }
            let chunk = rest.prefix(count)
            guard !chunk.elementsEqual(mark) else { throw .looksLikeMark }
            chunks.append(chunk)
            rest = rest.dropFirst(count)
        }
        return chunks + [mark[...]]
    }

    /// The message and the mark behind it, cut nowhere behind octets that end in the mark but at the end; the mark itself
    /// stays whole, for receivers that look at one chunk alone.
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
            // The farthest place is the best one: from there every place is within reach that is from a nearer one.
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
        // The mark's own beginning may make one with the message's end.
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
