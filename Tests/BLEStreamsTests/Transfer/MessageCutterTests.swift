import Testing

@testable import BLEStreams

@Suite struct MessageCutterTests {
    private static func cut(_ message: String, _ mark: EndMark, limit: Int) throws -> [String] {
        try MessageCutter.chunks(of: Array(message.utf8), endingWith: mark, limit: limit)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: - A mark that is a chunk of its own

    @Test func `data that is the mark is cut, data that ends in it is not`() throws {
        #expect(try Self.cut("", .endOfMessage("EOM"), limit: 20) == ["EOM"])
        #expect(try Self.cut("EOM", .endOfMessage("EOM"), limit: 20) == ["EO", "M", "EOM"])
        #expect(try Self.cut("aEOM", .endOfMessage("EOM"), limit: 20) == ["aEOM", "EOM"])
        #expect(try Self.cut("1234EOM", .endOfMessage("EOM"), limit: 4) == ["1234", "EO", "M", "EOM"])
        #expect(try Self.cut("EOMEOM", .endOfMessage("EOM"), limit: 3) == ["EO", "MEO", "M", "EOM"])
        // A mark of one octet can't be cut: the chunk before leaves it company.
        #expect(try Self.cut("1234!", .endOfMessage("!"), limit: 4) == ["123", "4!", "!"])
    }

    @Test func `a message that is nothing but a mark of one octet is refused`() {
        #expect(throws: MessageCutter.Refusal.looksLikeMark) { try Self.cut("!", .endOfMessage("!"), limit: 20) }
    }

    // MARK: - A mark at the end of a chunk

    @Test func `no cut lies behind what ends in the mark`() throws {
        let mark = EndMark.endOfMessage(atEndOfChunk: "EOM")
        #expect(try Self.cut("", mark, limit: 20) == ["EOM"])
        #expect(try Self.cut("abc", mark, limit: 20) == ["abcEOM"])
        #expect(try Self.cut("12EOM3", mark, limit: 5) == ["12EO", "M3EOM"])
        // Also where the mark would be put together from two chunks.
        #expect(try Self.cut("1234EOM5678", mark, limit: 6) == ["1234EO", "M5678", "EOM"])
        // The message itself may end in the mark: its end comes with the mark behind it.
        #expect(try Self.cut("1234EOM", mark, limit: 6) == ["1234EO", "MEOM"])
    }

    @Test func `a message that looks like the mark wherever it is cut is refused`() throws {
        let repeated = String(repeating: "!", count: 40)
        #expect(throws: MessageCutter.Refusal.looksLikeMark) {
            try Self.cut(repeated, .endOfMessage(atEndOfChunk: "!"), limit: 20)
        }
        // What fits into one chunk with its mark needs no cut.
        #expect(try Self.cut("!!!", .endOfMessage(atEndOfChunk: "!"), limit: 20) == ["!!!!"])
    }

    // MARK: - Others

    @Test func `a mark that is longer than a chunk is refused`() {
        for mark in [EndMark.endOfMessage("12345"), .endOfMessage(atEndOfChunk: "12345")] {
            #expect(throws: MessageCutter.Refusal.markTooLong(octets: 5, limit: 4)) {
                try Self.cut("x", mark, limit: 4)
            }
        }
    }

    @Test func `a delimiter may stand at the end only`() throws {
        #expect(try Self.cut("one line", .delimiter("\n"), limit: 5) == ["one l", "ine\n"])
        #expect(throws: MessageCutter.Refusal.containsMark(at: 1)) { try Self.cut("a\nb", .delimiter("\n"), limit: 5) }
        // Its beginning and the end of the message make one that comes too early.
        #expect(throws: MessageCutter.Refusal.containsMark(at: 1)) { try Self.cut("b-", .delimiter("--"), limit: 5) }
    }

    @Test func `a length stands in front, where the message is not too long for it`() throws {
        #expect(try Self.cut("abc", .lengthPrefix(octets: 1), limit: 3) == ["\u{3}ab", "c"])
        #expect(try Self.cut("a", .lengthPrefix(octets: 2, order: .bigEndian), limit: 3) == ["\0\u{1}a"])
        #expect(throws: MessageCutter.Refusal.tooLong(lengthOctets: 1)) {
            try Self.cut(String(repeating: "x", count: 256), .lengthPrefix(octets: 1), limit: 20)
        }
        #expect(try Self.cut("", .lengthPrefix(octets: 8), limit: 20) == [String(repeating: "\0", count: 8)])
    }

    // MARK: - Any message

    /// A message and a mark of few letters, so that they look alike often.
    private static func example(_ random: inout Chance) -> (message: [UInt8], mark: [UInt8]) {
        func octets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8([69, 79, 77][random.below(3)]) } }
        let marks = [Array("EOM".utf8), [69], [69, 69], octets(1 + random.below(4))]
        let mark = marks[random.below(marks.count)]
        var message = octets(random.below(40))
        // Whole marks too, as chance alone rarely brings them where a cut would be.
        for _ in 0..<random.below(4) { message += mark + octets(random.below(4)) }
        return (message, mark)
    }

    @Test(arguments: 1...400) func `whatever is cut comes together again`(seed: UInt64) throws {
        var random = Chance(seed: seed)
        for _ in 0..<20 {
            let (message, mark) = Self.example(&random)
            let limit = 4 + random.below(20)
            for end in [EndMark.endOfMessage(mark), .endOfMessage(atEndOfChunk: mark), .lengthPrefix(octets: 2)] {
                let chunks: [ArraySlice<UInt8>]
                do {
                    chunks = try MessageCutter.chunks(of: message, endingWith: end, limit: limit)
                } catch {
                    #expect(!Self.canBeCut(message, end, limit), "\(message) \(mark) \(limit)")
                    continue
                }
                #expect(chunks.allSatisfy { (1...limit).contains($0.count) })
                var assembler = MessageAssembler(end, maximumSize: message.count)
                var messages: [[UInt8]] = []
                for (number, chunk) in chunks.enumerated() {
                    assembler.append(chunk)
                    while let message = try assembler.next() { messages.append(message) }
                    #expect(messages.isEmpty || number == chunks.count - 1, "\(chunks) \(mark)")
                }
                #expect(messages == [message] && assembler.unfinished == nil, "\(chunks) \(mark)")
            }
        }
    }

    /// Whether there is a way at all, found by trying every place to cut.
    private static func canBeCut(_ message: [UInt8], _ end: EndMark, _ limit: Int) -> Bool {
        let (octets, mark, isOwnChunk): ([UInt8], [UInt8], Bool) =
            switch end.rule {
            case .ownChunk(let mark): (message, mark, true)
            case .endOfChunk(let mark): (message + mark, mark, false)
            case .delimiter, .lengthPrefix: (message, [], true)
            }
        var isReachable = [true] + [Bool](repeating: false, count: octets.count)
        for end in octets.indices.map({ $0 + 1 }) {
            let isEnd = !isOwnChunk && end == octets.count
            if !isOwnChunk, !isEnd, octets[..<end].suffix(mark.count).elementsEqual(mark) { continue }
            if !isOwnChunk, !isEnd, end > message.count { continue }
            isReachable[end] = (max(0, end - limit)..<end).contains { start in
                isReachable[start] && !(isOwnChunk && octets[start..<end].elementsEqual(mark))
            }
        }
        return isReachable[octets.count]
    }
}
