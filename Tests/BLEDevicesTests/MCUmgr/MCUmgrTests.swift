import Testing

@testable import BLEDevices
@testable import BLEProtocolTests

/// Octets that the Python package `smp` 4.2.0 makes of the same messages.
@Suite struct MCUmgrMessageTests {
    static let hash = (0..<32).map { UInt8($0) }

    static let messages: [(hex: String, message: MCUmgrMessage)] = [
        ("0800000100010100a0", MCUmgrMessage(.read, .imageState, sequence: 1, body: .map([]))),
        (
            "0a00003100010200a264686173685820000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
                + "67636f6e6669726df4",
            MCUmgrMessage(
                .write,
                .imageState,
                sequence: 2,
                body: .map(["hash": .bytes(hash), "confirm": .bool(false)])
            )
        ),
        (
            "0a00003c00010301a4636c656e1903e8636f666600637368615820000102030405060708090a0b0c0d0e0f1011121314"
                + "15161718191a1b1c1d1e1f646461746143010203",
            MCUmgrMessage(
                .write,
                .imageUpload,
                sequence: 3,
                body: .map([
                    "len": .integer(1000), "off": .integer(0), "sha": .bytes(hash), "data": .bytes([1, 2, 3]),
                ])
            )
        ),
        (
            "0a00002f00010401a2636f66661a000111706464617461581e" + String(repeating: "aa", count: 30),
            MCUmgrMessage(
                .write,
                .imageUpload,
                sequence: 4,
                body: .map(["off": .integer(70_000), "data": .bytes([UInt8](repeating: 0xAA, count: 30))])
            )
        ),
        ("0a00000100000505a0", MCUmgrMessage(.write, .reset, sequence: 5, body: .map([]))),
        ("0800000100000606a0", MCUmgrMessage(.read, .parameters, sequence: 6, body: .map([]))),
        (
            "0900001800000606a2686275665f73697a651909ab696275665f636f756e7404",
            MCUmgrMessage(
                .readResponse,
                .parameters,
                sequence: 6,
                body: .map(["buf_size": .integer(2475), "buf_count": .integer(4)])
            )
        ),
        (
            "0b00000f00010301a2636f6666190200656d61746368f5",
            MCUmgrMessage(
                .writeResponse,
                .imageUpload,
                sequence: 3,
                body: .map(["off": .integer(512), "match": .bool(true)])
            )
        ),
    ]

    @Test func `messages are written and read as others do`() throws {
        for (text, message) in Self.messages {
            #expect(hex(message.encoded) == text)
            #expect(try MCUmgrMessage(decoding: pdu(text)) == message)
        }
    }

    @Test func `messages are put together from parts of any size`() throws {
        let stream = Self.messages.flatMap { pdu($0.hex) }
        for size in [1, 2, 7, 8, 9, 20, 100, 1000] {
            var reassembler = MCUmgrReassembler()
            var messages: [MCUmgrMessage] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                for message in reassembler.append(stream[start..<min(start + size, stream.count)]) {
                    messages.append(try message.get())
                }
            }
            #expect(messages == Self.messages.map(\.message))
        }
    }

    @Test func `what is no message is refused, and the next one is read`() throws {
        #expect(throws: MCUmgrDecodingError.truncated) { try MCUmgrMessage(decoding: pdu("08000001000101")) }
        #expect(throws: MCUmgrDecodingError.truncated) { try MCUmgrMessage(decoding: pdu("0800000200010100a0")) }
        #expect(throws: MCUmgrDecodingError.unknownOperation(0x0C)) {
            try MCUmgrMessage(decoding: pdu("0c00000100010100a0"))
        }
        var reassembler = MCUmgrReassembler()
        let messages = reassembler.append(pdu("0b00000100010101ff" + "0b00000100010201a0"))
        #expect(messages.count == 2)
        #expect(throws: MCUmgrDecodingError.body(.malformed(0xFF))) { try messages[0].get() }
        #expect(try messages[1].get().sequence == 2)
    }

    @Test(arguments: [2, 3]) func `a lost part costs its own answer, and the next one is read`(count: Int) throws {
        // With 2 or 3 parts of 20 octets.
        let text = String(repeating: "x", count: 20 * count - 25)
        let parts = (UInt8(1)...3).flatMap { sequence in
            let body = CBORValue.map(["rc": .integer(0), "rsn": .text(text)])
            let octets = MCUmgrMessage(.writeResponse, .imageUpload, sequence: sequence, body: body).encoded
            return stride(from: 0, to: octets.count, by: 20).map { octets[$0..<min($0 + 20, octets.count)] }
        }
        #expect(parts.count == 3 * count)
        for lost in parts.indices {
            var reassembler = MCUmgrReassembler()
            var answers: [UInt8] = []
            for (place, part) in parts.enumerated() where place != lost {
                let messages = reassembler.append(part) { header in
                    header == MCUmgrMessage.Header(.writeResponse, .imageUpload, sequence: header.sequence)
                        && (1...3).contains(header.sequence)
                }
                for message in messages { answers.append(try message.get().sequence) }
            }
            #expect(answers == [1, 2, 3].filter { $0 != UInt8(lost / count + 1) }, "without part \(lost)")
        }
    }

    @Test func `failures of both versions are told in words`() {
        #expect(MCUmgrFailure(.map(["off": .integer(1)])) == nil && MCUmgrFailure(.map(["rc": .integer(0)])) == nil)
        let old = MCUmgrFailure(.map(["rc": .integer(8), "rsn": .text("no")]))
        #expect(old?.isUnsupported == true && old?.description == "not supported (code 8): no")
        let new = MCUmgrFailure(.map(["err": .map(["group": .integer(1), "rc": .integer(30)])]))
        #expect(new?.isTooLarge == true && new?.description == "the image is too large (group 1, code 30)")
        #expect(MCUmgrFailure(.map(["err": .map(["group": .integer(1), "rc": .integer(0)])])) == nil)
        #expect(MCUmgrFailure(group: 70, code: 3).description == "group 70, code 3")
    }

    @Test func `a failure as the first devices with version 2 call it is one`() {
        let first = MCUmgrFailure(.map(["ret": .map(["group": .integer(1), "rc": .integer(9)])]))
        #expect(first?.slotInUse == .taken && first?.description == "no free slot (group 1, code 9)")
        #expect(MCUmgrFailure(.map(["ret": .map(["group": .integer(1), "rc": .integer(0)])])) == nil)
        // The exit status of a shell's command.
        #expect(MCUmgrFailure(.map(["ret": .integer(-5), "o": .text("")])) == nil)
        #expect(MCUmgrFailure(.map(["ret": .integer(-5), "rc": .integer(8)]))?.isUnsupported == true)
    }

    @Test func `an image is not called too large by a code of the original protocol that tells no such thing`() {
        // By `img_mgmt.c` of mcumgr and of Zephyr: the code alone says neither.
        let bare = MCUmgrFailure(code: 2)
        #expect(!bare.isTooLarge && bare.slotInUse == nil && !bare.isPassing)
        for code in [2, 5] {
            let taken = MCUmgrFailure(code: code, reason: "no slot")
            #expect(!taken.isTooLarge && taken.slotInUse == .taken && !taken.isPassing)
        }
        let large = MCUmgrFailure(code: 3, reason: "no slot")
        #expect(large.isTooLarge && large.slotInUse == nil)
    }
}

@Suite struct MCUbootImageTests {
    /// An image as `imgtool` lays it out: header, body, protected trailer, trailer with a hash.
    static func image(body: [UInt8], protected: [UInt8] = [], hash: [UInt8]?, type: UInt8 = 0x10) -> [UInt8] {
        var writer = ByteWriter()
        writer.uint32(0x96F3_B83D)
        writer.uint32(0)
        writer.uint16(32)
        writer.uint16(UInt16(protected.count))
        writer.uint32(UInt32(body.count))
        writer.uint32(0)
        writer.append([1, 2])
        writer.uint16(3)
        writer.uint32(4)
        writer.uint32(0)
        writer.append(body)
        writer.append(protected)
        let entries = hash.map { [type, 0, UInt8($0.count), 0] + $0 } ?? []
        writer.uint16(0x6907)
        writer.uint16(UInt16(4 + entries.count))
        writer.append(entries)
        return writer.bytes
    }

    @Test func `version and hash are found behind whatever trailers there are`() {
        let hash = [UInt8](repeating: 7, count: 32)
        let plain = MCUbootImage(Self.image(body: [1, 2, 3], hash: hash))
        #expect(plain?.version == "1.2.3+4" && plain?.hash == hash)
        // A protected trailer with a dependency, before the one with the hash.
        let protected: [UInt8] = [0x08, 0x69, 12, 0, 0x40, 0, 4, 0, 1, 2, 3, 4]
        #expect(MCUbootImage(Self.image(body: [1], protected: protected, hash: hash))?.hash == hash)
        #expect(MCUbootImage(Self.image(body: [1], hash: nil)) == MCUbootImage(Self.image(body: [2], hash: nil)))
    }

    @Test(arguments: [(0x10, 32), (0x11, 48), (0x12, 64)] as [(UInt8, Int)])
    func `the hash is found whichever of the boot loader's kinds it has`(type: UInt8, length: Int) {
        let hash = [UInt8](repeating: 7, count: length)
        #expect(MCUbootImage(Self.image(body: [1], hash: hash, type: type))?.hash == hash)
        let short = MCUbootImage(Self.image(body: [1], hash: Array(hash.dropLast()), type: type))
        #expect(short?.version == "1.2.3+4" && short?.hash == nil)
    }

    @Test func `what is cut off or something else is no image, and nothing traps`() {
        let whole = Self.image(body: [UInt8](repeating: 1, count: 50), hash: [UInt8](repeating: 7, count: 32))
        for count in 0..<82 { #expect(MCUbootImage(Array(whole.prefix(count))) == nil) }
        for count in 82..<whole.count { #expect(MCUbootImage(Array(whole.prefix(count)))?.hash == nil) }
        #expect(MCUbootImage([0x7F, 0x45, 0x4C, 0x46] + whole) == nil)
        var source = FuzzSource(seed: 3)
        for _ in 0..<5000 { _ = MCUbootImage(source.mutated(whole)) }
    }
}
