import Testing

@testable import BLEStreams

@Suite struct MessageAssemblerTests {
    /// What becomes of chunks: the messages, the part that is left, and the part that was too long.
    struct Outcome: Equatable {
        var messages: [String] = []
        var left: String?
        var tooLong: String?
    }

    static func assemble(_ chunks: [String], _ mark: EndMark, maximumSize: Int = 100) -> Outcome {
        assemble(chunks.map { Array($0.utf8) }, mark, maximumSize: maximumSize)
    }

    static func assemble(_ chunks: [[UInt8]], _ mark: EndMark, maximumSize: Int = 100) -> Outcome {
        var assembler = MessageAssembler(mark, maximumSize: maximumSize)
        var outcome = Outcome()
        do {
            for chunk in chunks {
                assembler.append(chunk)
                while let message = try assembler.next() {
                    outcome.messages.append(String(decoding: message, as: UTF8.self))
                    // An assembler that never has enough must fail, and not fill the memory.
                    if outcome.messages.count > 100_000 { return outcome }
                }
            }
        } catch {
            outcome.tooLong = String(decoding: error.received, as: UTF8.self)
        }
        outcome.left = assembler.unfinished.map { String(decoding: $0, as: UTF8.self) }
        return outcome
    }

    private func assemble(_ chunks: [String], _ mark: EndMark, maximumSize: Int = 100) -> Outcome {
        Self.assemble(chunks, mark, maximumSize: maximumSize)
    }

    // MARK: - At the end of a chunk

    @Test(arguments: [
        ["hel", "lo", "EOM"],
        ["hel", "loEOM"],
        ["hel", "loE", "OM"],
        ["hel", "loEO", "M"],
        ["hello", "E", "O", "M"],
        ["helloEOM"],
        ["", "hello", "", "EOM"],
    ])
    func `an end mark is found however it is split`(chunks: [String]) {
        #expect(assemble(chunks, .endOfMessage(atEndOfChunk: "EOM")) == Outcome(messages: ["hello"]))
    }

    @Test func `a mark in the middle of a chunk is part of the message`() {
        #expect(assemble(["aEOMb", "EOM"], .endOfMessage(atEndOfChunk: "EOM")) == Outcome(messages: ["aEOMb"]))
    }

    @Test func `what looks like the beginning of a mark is part of the message`() {
        #expect(assemble(["aEO", "OM", "EEOM"], .endOfMessage(atEndOfChunk: "EOM")) == Outcome(messages: ["aEOOME"]))
    }

    @Test func `a mark alone is an empty message`() {
        #expect(
            assemble(["EOM", "aEOM", "EOM"], .endOfMessage(atEndOfChunk: "EOM")) == Outcome(messages: ["", "a", ""])
        )
    }

    @Test func `without a mark the message is unfinished, with what may be its beginning`() {
        #expect(assemble(["abc", "EO"], .endOfMessage(atEndOfChunk: "EOM")) == Outcome(left: "abcEO"))
    }

    @Test func `the mark doesn't count for the maximum, however it is split`() {
        let exact = Outcome(messages: ["abcde"])
        #expect(assemble(["abcdeEOM"], .endOfMessage(atEndOfChunk: "EOM"), maximumSize: 5) == exact)
        #expect(assemble(["abcde", "E", "O", "M"], .endOfMessage(atEndOfChunk: "EOM"), maximumSize: 5) == exact)
        #expect(assemble(["abcdefEOM"], .endOfMessage(atEndOfChunk: "EOM"), maximumSize: 5).tooLong == "abcdefEOM")
        #expect(assemble(["abcde", "fgh"], .endOfMessage(atEndOfChunk: "EOM"), maximumSize: 5).tooLong == "abcdefgh")
        // It can't become a mark any more, though it is no longer than a message and a mark.
        #expect(assemble(["abcde", "xxx"], .endOfMessage(atEndOfChunk: "EOM"), maximumSize: 5).tooLong == "abcdexxx")
    }

    // MARK: - A chunk of its own

    @Test func `a mark that must be a chunk of its own is data elsewhere`() {
        let outcome = assemble(["aEOM", "E", "OM", "EOM", "b", "EOM", "EOM", "c"], .endOfMessage("EOM"))
        #expect(outcome == Outcome(messages: ["aEOMEOM", "b", ""], left: "c"))
    }

    @Test func `a message whose mark is a chunk of its own has a maximum too`() {
        #expect(assemble(["abc", "de", "EOM"], .endOfMessage("EOM"), maximumSize: 5) == Outcome(messages: ["abcde"]))
        #expect(assemble(["abc", "def"], .endOfMessage("EOM"), maximumSize: 5).tooLong == "abcdef")
    }

    // MARK: - Delimiter

    @Test(arguments: [
        ["one\r\ntwo\r\n\r\nthr"],
        ["one\r", "\ntwo\r\n\r", "\nthr"],
        ["o", "n", "e", "\r", "\n", "t", "w", "o", "\r", "\n", "\r", "\n", "t", "h", "r"],
    ])
    func `a delimiter separates messages wherever it stands`(chunks: [String]) {
        #expect(assemble(chunks, .delimiter("\r\n")) == Outcome(messages: ["one", "two", ""], left: "thr"))
    }

    @Test func `a false start of a delimiter is part of the message`() {
        #expect(assemble(["aab"], .delimiter("ab")) == Outcome(messages: ["a"]))
        #expect(assemble(["a\r", "\r\n"], .delimiter("\r\n")) == Outcome(messages: ["a\r"]))
    }

    @Test func `messages that are complete come before the one that is too long`() {
        let outcome = assemble(["a\nb\nabcdef"], .delimiter("\n"), maximumSize: 5)
        #expect(outcome == Outcome(messages: ["a", "b"], left: "abcdef", tooLong: "abcdef"))
        let complete = assemble(["a\nabcdef\nb\n"], .delimiter("\n"), maximumSize: 5)
        #expect(complete.messages == ["a"])
        #expect(complete.tooLong == "abcdef\nb\n")
    }

    // MARK: - Length prefix

    @Test(
        arguments: [
            [[3, 0, 97, 98, 99, 0, 0, 1, 0, 100, 2, 0, 101]],
            [[3], [0, 97], [98, 99, 0], [0], [1, 0, 100, 2, 0, 101]],
            [[3], [0], [97], [98], [99], [0], [0], [1], [0], [100], [2], [0], [101]],
        ] as [[[UInt8]]]
    )
    func `a length says where a message ends`(chunks: [[UInt8]]) {
        let outcome = Self.assemble(chunks, .lengthPrefix(octets: 2))
        #expect(outcome == Outcome(messages: ["abc", "", "d"], left: "\u{2}\u{0}e"))
    }

    @Test func `a length may come with the most significant octet first`() {
        let outcome = Self.assemble([[0, 0, 1, 97, 0, 0, 0]], .lengthPrefix(octets: 3, order: .bigEndian))
        #expect(outcome == Outcome(messages: ["a", ""]))
    }

    @Test(arguments: 1...8)
    func `a length beyond the maximum is refused as soon as it is there, also one beyond any number`(octets: Int) {
        let length = [UInt8](repeating: 0xFF, count: octets)
        var assembler = MessageAssembler(.lengthPrefix(octets: octets), maximumSize: 254)
        assembler.append(length)
        #expect(throws: MessageAssembler.TooLong(received: length)) { try assembler.next() }
    }

    @Test(arguments: [EndMark.ByteOrder.littleEndian, .bigEndian], [UInt64(Int64.max), UInt64(Int64.max) - 7])
    func `a length that no memory holds is waited for where there is no maximum`(
        order: EndMark.ByteOrder,
        length: UInt64
    ) throws {
        let octets = (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * UInt64($0))) }
        let prefix = order == .bigEndian ? octets.reversed() : octets
        var assembler = MessageAssembler(.lengthPrefix(octets: 8, order: order), maximumSize: .max)
        assembler.append(prefix + [1, 2, 3])
        #expect(try assembler.next() == nil)
        #expect(assembler.unfinished == prefix + [1, 2, 3])
    }

    @Test func `the maximum itself is a message`() throws {
        var assembler = MessageAssembler(.lengthPrefix(octets: 1), maximumSize: 255)
        assembler.append([255] + [UInt8](repeating: 7, count: 255))
        #expect(try assembler.next()?.count == 255)
        #expect(assembler.unfinished == nil)
    }

    // MARK: - Any

    @Test func `reset forgets the message under way`() throws {
        for (mark, whole) in [(EndMark.delimiter("\n"), "ab\n"), (.endOfMessage(atEndOfChunk: "\n"), "ab\n")] {
            var assembler = MessageAssembler(mark, maximumSize: 100)
            assembler.append(Array("forgotten".utf8))
            #expect(try assembler.next() == nil)
            assembler.reset()
            #expect(assembler.unfinished == nil)
            assembler.append(Array(whole.utf8))
            #expect(try assembler.next() == Array("ab".utf8))
        }
    }

    @Test(
        arguments: [
            (EndMark.endOfMessage("EOM"), ["half"], [0, 0, 0], ["a", "EO", "EOM"]),
            (.endOfMessage("EOM"), [], [0], ["EOM"]),
            (.endOfMessage(atEndOfChunk: "EOM"), ["halfE"], [2, 0], ["x", "EOM"]),
            (.endOfMessage(atEndOfChunk: "EOM"), ["halfE"], [0], ["OM"]),
            (.endOfMessage(atEndOfChunk: "EOM"), ["half"], [2, 0], ["aEOMb", "EOM"]),
            (.delimiter("ab"), ["0ab", "hal"], [1, 2], ["fa", "bcd"]),
            (.delimiter("abab"), ["0abab", "a"], [2, 3, 0], ["b", "x", "abab"]),
            (.delimiter("\n"), ["half"], [0, 3], ["xyz", "\ntwo"]),
        ] as [(EndMark, [String], [Int], [String])]
    )
    func `what follows of a message that was given up is dropped, and little is kept`(
        mark: EndMark,
        before: [String],
        kept: [Int],
        chunks: [String]
    ) throws {
        var assembler = MessageAssembler(mark, maximumSize: 100)
        for chunk in before {
            assembler.append(Array(chunk.utf8))
            while try assembler.next() != nil {}
        }
        assembler.skip()
        for (chunk, kept) in zip(chunks, kept) {
            #expect(assembler.isSkipping && assembler.unfinished == nil)
            assembler.skip(Array(chunk.utf8))
            #expect(assembler.unfinishedCount == kept)
        }
        #expect(!assembler.isSkipping)
    }

    @Test func `a message that is too long is given up to its end, which may be here already`() {
        for mark in [EndMark.delimiter("\n"), .endOfMessage(atEndOfChunk: "\n")] {
            var assembler = MessageAssembler(mark, maximumSize: 5)
            assembler.append(Array("much too long\n".utf8))
            #expect(throws: MessageAssembler.TooLong.self) { _ = try assembler.next() }
            assembler.skip()
            #expect(!assembler.isSkipping && assembler.unfinished == nil)
        }
    }

    @Test(arguments: [
        EndMark.endOfMessage(atEndOfChunk: "EOM"), .endOfMessage("EOM"), .delimiter("\n"), .lengthPrefix(octets: 4),
    ])
    func `a message of 10 MB in chunks of 20 octets is put together in no time`(mark: EndMark) throws {
        // Copying what has come with each chunk would take hours.
        let size = 10_000_000
        var assembler = MessageAssembler(mark, maximumSize: size)
        var message: [UInt8]?
        func feed(_ chunk: [UInt8]) throws {
            assembler.append(chunk)
            if let whole = try assembler.next() { message = whole }
        }
        if case .lengthPrefix = mark.rule { try feed([0x80, 0x96, 0x98, 0x00]) }
        let chunk = [UInt8](repeating: 0x41, count: 20)
        for _ in 0..<size / 20 { try feed(chunk) }
        switch mark.rule {
        case .endOfChunk, .ownChunk: try feed(Array("EOM".utf8))
        case .delimiter: try feed([10])
        case .lengthPrefix: break
        }
        #expect(message?.count == size)
        #expect(assembler.unfinished == nil)
    }

    @Test(arguments: 1...200) func `chunks are cut anywhere, and the messages are the same`(seed: UInt64) {
        var random = Chance(seed: seed)
        let messages = (0..<random.below(6)).map { _ in
            (0..<random.below(12)).map { _ in ["a", "b", "\r"][random.below(3)] }.joined()
        }
        let octets: [UInt8] = messages.flatMap { Array(($0 + "\r\n").utf8) }
        var chunks: [[UInt8]] = []
        var rest = octets[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(1 + random.below(7))
            chunks.append(Array(chunk))
            rest = rest.dropFirst(chunk.count)
        }
        #expect(Self.assemble(chunks, .delimiter("\r\n")) == Outcome(messages: messages))
    }

    @Test(arguments: 1...200) func `no octets of a peer do harm`(seed: UInt64) {
        var random = Chance(seed: seed)
        let marks: [EndMark] = [
            .endOfMessage(atEndOfChunk: "ab"), .endOfMessage("a"), .delimiter("ab"),
            .lengthPrefix(octets: 1 + random.below(8)),
        ]
        let mark = marks[random.below(marks.count)]
        var assembler = MessageAssembler(mark, maximumSize: random.below(40))
        var fed = 0
        for _ in 0..<100 {
            let chunk = (0..<random.below(30)).map { _ in UInt8([0, 1, 97, 98, 255][random.below(5)]) }
            assembler.append(chunk)
            fed += chunk.count
            do {
                var count = 0
                while count < 10_000, let message = try assembler.next() {
                    fed -= message.count
                    count += 1
                }
            } catch {
                break
            }
        }
        #expect((assembler.unfinished?.count ?? 0) <= fed)
    }
}
