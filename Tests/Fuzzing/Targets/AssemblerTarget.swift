@testable import BLEStreams

extension FuzzTarget {
    /// Chunks with any mark, as the assembler takes them and as a reference of few lines does; and a message that is
    /// cut and assembled again.
    static let assembler = FuzzTarget("assembler", longest: 512, seeds: AssemblerRun.seeds) { octets in
        var input = FuzzInput(octets)
        let (mark, maximum) = (EndMark(&input), Int(input.octet()))
        if input.chance() {
            try AssemblerRun.cutAndAssemble(input.rest(), mark, limit: 20 + maximum)
        } else {
            var run = AssemblerRun(mark, maximum)
            while !input.isAtEnd, try run.takes(input.chunk()) {}
            while !input.isAtEnd { try run.skips(input.chunk()) }
        }
    }
}

extension EndMark {
    fileprivate init(_ input: inout FuzzInput) {
        let (kind, octet) = (input.number(below: 4), input.octet())
        // Few different octets, so that marks and parts of them occur.
        let mark = (0...Int(octet >> 4) % 3).map { UInt8(ascii: "a") + octet >> UInt8(2 * $0) & 3 }
        let text = String(decoding: mark, as: UTF8.self)
        switch kind {
        case 0: self = .endOfMessage(text)
        case 1: self = .endOfMessage(atEndOfChunk: text)
        case 2: self = .delimiter(text)
        default: self = .lengthPrefix(octets: Int(octet & 7) + 1, order: octet & 8 == 0 ? .littleEndian : .bigEndian)
        }
    }
}

/// The assembler beside the reference.
private struct AssemblerRun {
    private let mark: EndMark
    private let maximum: Int
    private var assembler: MessageAssembler
    private var chunks: [[UInt8]] = []
    private var messages: [[UInt8]] = []
    private var isPassingOver = false

    init(_ mark: EndMark, _ maximum: Int) {
        (self.mark, self.maximum) = (mark, maximum)
        assembler = MessageAssembler(mark, maximumSize: maximum)
    }

    /// Takes a chunk; whether the stream goes on.
    mutating func takes(_ chunk: [UInt8]) throws -> Bool {
        chunks.append(chunk)
        assembler.append(chunk)
        var tooLong: [UInt8]?
        do throws(MessageAssembler.TooLong) {
            while let message = try assembler.next() { messages.append(message) }
        } catch {
            tooLong = error.received
        }
        let expected = Assembled(chunks, mark, maximum)
        try require(messages == expected.messages, "\(mark): \(messages) in place of \(expected.messages)")
        try require(tooLong == expected.tooLong, "\(mark): too long \(tooLong ?? []), not \(expected.tooLong ?? [])")
        guard tooLong == nil else { return false }
        try require(assembler.unfinished ?? [] == expected.rest, "\(mark): what is unfinished differs")
        return true
    }

    /// Takes a chunk after a message that was too long: its rest is passed over, what follows is assembled again.
    mutating func skips(_ chunk: [UInt8]) throws {
        if !isPassingOver { assembler.restart(inMessage: assembler.findsNext) }
        isPassingOver = true
        if assembler.isSkipping { assembler.skip(chunk) } else { assembler.append(chunk) }
        do throws(MessageAssembler.TooLong) {
            while !assembler.isSkipping, let message = try assembler.next() { messages.append(message) }
        } catch {
            assembler.skip()
        }
        try require(messages.allSatisfy { $0.count <= maximum }, "\(mark): a message is too long")
        try require(assembler.neededCount <= assembler.unfinishedCount, "\(mark): needs octets that it hasn't")
    }

    /// What is cut by a sender of ours is one message for a receiver of ours.
    static func cutAndAssemble(_ message: [UInt8], _ mark: EndMark, limit: Int) throws {
        let chunks: [ArraySlice<UInt8>]
        do throws(MessageCutter.Refusal) {
            chunks = try MessageCutter.chunks(of: message, endingWith: mark, limit: limit)
        } catch {
            return
        }
        var assembler = MessageAssembler(mark, maximumSize: message.count)
        var messages: [[UInt8]] = []
        for chunk in chunks {
            try require(!chunk.isEmpty && chunk.count <= limit, "a chunk of \(chunk.count) octets")
            assembler.append(chunk)
            while let message = try assembler.next() { messages.append(message) }
        }
        try require(messages == [message] && assembler.unfinished == nil, "\(mark): cut \(message), got \(messages)")
    }

    static var seeds: [[UInt8]] {
        let text = Array("\u{3}abc\u{2}aa\u{1}b\u{0}\u{4}caab\u{2}bc".utf8)
        var kinds: [[UInt8]] = []
        for kind: UInt8 in 0..<4 {
            for mark: UInt8 in [0x00, 0x10, 0x24, 0x1B] { kinds.append([kind, mark, 40, 0] + text) }
        }
        let long = (UInt8(0)..<4).map { kind -> [UInt8] in [kind, 0, 4, 0, 20] + [UInt8](repeating: 0x62, count: 20) }
        let cut = (UInt8(0)..<4).map { kind -> [UInt8] in [kind, 0x11, 4, 1] + [UInt8](repeating: 0x61, count: 60) }
        let prefixed: [UInt8] = [3, 0, 40, 0, 5, 2, 9, 9, 1, 8, 1, 0]
        return kinds + long + cut + [prefixed]
    }
}

/// The messages in chunks, each time from the first octet on: slow, and easy to see that it is right.
private struct Assembled {
    var messages: [[UInt8]] = []
    var rest: [UInt8] = []
    var tooLong: [UInt8]?

    init(_ chunks: [[UInt8]], _ mark: EndMark, _ maximum: Int) {
        for chunk in chunks {
            switch mark.rule {
            case .ownChunk(let mark):
                if chunk == mark { end(rest, next: [], maximum) } else { rest += chunk }
                limit(rest.count, maximum)
            case .endOfChunk(let mark):
                rest += chunk
                if rest.suffix(mark.count) == mark[...] {
                    end(Array(rest.dropLast(mark.count)), next: [], maximum)
                } else {
                    limit(rest.count - (mark.count - 1), maximum)
                }
            case .delimiter(let mark):
                rest += chunk
                while tooLong == nil, let place = Self.first(mark, in: rest) {
                    end(Array(rest[..<place]), next: Array(rest[(place + mark.count)...]), maximum)
                }
                limit(rest.count - (mark.count - 1), maximum)
            case .lengthPrefix(let octets, let order):
                rest += chunk
                while tooLong == nil, rest.count >= octets {
                    let prefix = Array(rest[..<octets])
                    let digits = order == .bigEndian ? prefix : prefix.reversed()
                    let length = digits.reduce(0.0) { $0 * 256 + Double($1) }
                    if length > Double(maximum) { tooLong = rest }
                    guard tooLong == nil, rest.count >= octets + Int(length) else { break }
                    end(
                        Array(rest[octets..<octets + Int(length)]),
                        next: Array(rest[(octets + Int(length))...]),
                        maximum
                    )
                }
            }
        }
    }

    private mutating func end(_ message: [UInt8], next: [UInt8], _ maximum: Int) {
        guard message.count <= maximum else {
            tooLong = tooLong ?? rest
            return
        }
        messages.append(message)
        rest = next
    }

    private mutating func limit(_ count: Int, _ maximum: Int) {
        if count > maximum { tooLong = tooLong ?? rest }
    }

    private static func first(_ mark: [UInt8], in octets: [UInt8]) -> Int? {
        octets.indices.first { octets[$0...].starts(with: mark) }
    }
}
