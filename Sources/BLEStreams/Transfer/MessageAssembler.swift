/// Puts chunks together until a message is complete; a value without time or I/O.
struct MessageAssembler {
    /// Why no message can come any more.
    struct TooLong: Error {
        /// What had been received of the message.
        var received: [UInt8]
    }

    private let rule: EndMark.Rule
    private let maximumSize: Int
    private var buffer: [UInt8] = []
    /// Up to where `buffer` has been searched for a delimiter.
    private var searched = 0

    init(_ mark: EndMark, maximumSize: Int) {
        rule = mark.rule
        self.maximumSize = maximumSize
    }

    /// What belongs to no complete message yet.
    var unfinished: [UInt8]? { buffer.isEmpty ? nil : buffer }

    /// Takes a chunk; several messages may become complete with it.
    mutating func append(_ chunk: some Collection<UInt8>) throws(TooLong) -> [[UInt8]] {
        switch rule {
        case .suffix(let mark):
            buffer.append(contentsOf: chunk)
            if buffer.count >= mark.count, buffer.suffix(mark.count).elementsEqual(mark) {
                buffer.removeLast(mark.count)
                return try [takeAll()]
            }
            // The tail may still turn out to be the beginning of the mark.
            try check(buffer.count - (mark.count - 1))
            return []
        case .ownChunk(let mark):
            if chunk.elementsEqual(mark) { return try [takeAll()] }
            buffer.append(contentsOf: chunk)
            try check(buffer.count)
            return []
        case .delimiter(let mark):
            buffer.append(contentsOf: chunk)
            return try splitAtDelimiters(mark)
        case .lengthPrefix(let octets, let order):
            buffer.append(contentsOf: chunk)
            return try splitByLength(octets, order)
        }
    }

    private mutating func takeAll() throws(TooLong) -> [UInt8] {
        try check(buffer.count)
        defer { buffer = [] }
        return buffer
    }

    private func check(_ size: Int) throws(TooLong) {
        if size > maximumSize { throw TooLong(received: buffer) }
    }

    private mutating func splitAtDelimiters(_ mark: [UInt8]) throws(TooLong) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var start = 0
        var position = searched
        while position + mark.count <= buffer.count {
            if buffer[position..<position + mark.count].elementsEqual(mark) {
                try check(position - start)
                messages.append(Array(buffer[start..<position]))
                position += mark.count
                start = position
            } else {
                position += 1
            }
        }
        buffer.removeFirst(start)
        searched = position - start
        try check(searched)
        return messages
    }

    private mutating func splitByLength(_ octets: Int, _ order: EndMark.ByteOrder) throws(TooLong) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var start = 0
        while buffer.count - start >= octets {
            let prefix = buffer[start..<start + octets]
            var length: UInt64 = 0
            for octet in order == .bigEndian ? Array(prefix) : prefix.reversed() {
                length = length << 8 | UInt64(octet)
            }
            // Compared before it is converted: a peer may send any number.
            guard length <= UInt64(max(0, maximumSize)) else { throw TooLong(received: Array(buffer[start...])) }
            let end = start + octets + Int(length)
            guard buffer.count >= end else { break }
            messages.append(Array(buffer[start + octets..<end]))
            start = end
        }
        buffer.removeFirst(start)
        return messages
    }
}
