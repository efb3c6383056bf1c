import Testing

@testable import BLEDevices
@testable import BLEProtocolTests

@Suite struct CBORTests {
    /// RFC 8949, appendix A: what is written as it stands.
    static let both: [(hex: String, value: CBORValue)] = [
        ("00", .unsigned(0)), ("01", .unsigned(1)), ("0a", .unsigned(10)), ("17", .unsigned(23)),
        ("1818", .unsigned(24)), ("1819", .unsigned(25)), ("1864", .unsigned(100)), ("1903e8", .unsigned(1000)),
        ("1a000f4240", .unsigned(1_000_000)), ("1b000000e8d4a51000", .unsigned(1_000_000_000_000)),
        ("1bffffffffffffffff", .unsigned(.max)), ("3bffffffffffffffff", .negative(.max)),
        ("20", .negative(0)), ("29", .negative(9)), ("3863", .negative(99)), ("3903e7", .negative(999)),
        ("fb3ff199999999999a", .double(1.1)), ("fb7e37e43c8800759c", .double(1.0e300)),
        ("fbc010666666666666", .double(-4.1)),
        ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null), ("f7", .undefined), ("f0", .simple(16)),
        ("f8ff", .simple(255)),
        ("c11a514b67b0", .tagged(1, .unsigned(1_363_896_240))), ("d74401020304", .tagged(23, .bytes([1, 2, 3, 4]))),
        ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("60", .text("")), ("6161", .text("a")),
        ("6449455446", .text("IETF")), ("62225c", .text("\"\\")), ("62c3bc", .text("\u{FC}")),
        ("63e6b0b4", .text("\u{6C34}")), ("64f0908591", .text("\u{10151}")),
        ("80", .array([])), ("83010203", .array([.unsigned(1), .unsigned(2), .unsigned(3)])),
        (
            "8301820203820405",
            .array([
                .unsigned(1), .array([.unsigned(2), .unsigned(3)]), .array([.unsigned(4), .unsigned(5)]),
            ])
        ),
        ("98190102030405060708090a0b0c0d0e0f101112131415161718181819", .array((1...25).map { .unsigned($0) })),
        ("a0", .map([])),
        (
            "a201020304",
            .map([.init(.unsigned(1), .unsigned(2)), .init(.unsigned(3), .unsigned(4))])
        ),
        ("a26161016162820203", .map(["a": .unsigned(1), "b": .array([.unsigned(2), .unsigned(3)])])),
        ("826161a161626163", .array([.text("a"), .map(["b": .text("c")])])),
        (
            "a56161614161626142616361436164614461656145",
            .map(["a": .text("A"), "b": .text("B"), "c": .text("C"), "d": .text("D"), "e": .text("E")])
        ),
    ]

    /// RFC 8949, appendix A: what is read, and written in another form.
    static let readOnly: [(hex: String, value: CBORValue)] = [
        ("f90000", .double(0)), ("f93c00", .double(1)), ("f93e00", .double(1.5)), ("f97bff", .double(65504)),
        ("f90001", .double(5.960464477539063e-8)), ("f90400", .double(0.00006103515625)), ("f9c400", .double(-4)),
        ("f97c00", .double(.infinity)), ("f9fc00", .double(-.infinity)),
        ("fa47c35000", .double(100_000)), ("fa7f7fffff", .double(3.4028234663852886e+38)),
        ("5f42010243030405ff", .bytes([1, 2, 3, 4, 5])), ("7f657374726561646d696e67ff", .text("streaming")),
        ("9fff", .array([])),
        (
            "9f018202039f0405ffff",
            .array([
                .unsigned(1), .array([.unsigned(2), .unsigned(3)]), .array([.unsigned(4), .unsigned(5)]),
            ])
        ),
        ("bf61610161629f0203ffff", .map(["a": .unsigned(1), "b": .array([.unsigned(2), .unsigned(3)])])),
        ("826161bf61626163ff", .array([.text("a"), .map(["b": .text("c")])])),
        ("bf6346756ef563416d7421ff", .map(["Fun": .bool(true), "Amt": .negative(1)])),
        // Longer than needed, which a decoder takes.
        ("1800", .unsigned(0)), ("1b0000000000000001", .unsigned(1)), ("580101", .bytes([1])),
    ]

    @Test func `the examples of the standard are written and read`() throws {
        for (text, value) in Self.both {
            #expect(value.encoded == pdu(text), "\(value)")
            #expect(try CBORValue(decoding: pdu(text)) == value, "\(text)")
        }
        for (text, value) in Self.readOnly { #expect(try CBORValue(decoding: pdu(text)) == value, "\(text)") }
    }

    @Test func `what is no item is refused, and why is told`() {
        let faults: [(String, CBORError)] = [
            ("", .truncated), ("18", .truncated), ("1903", .truncated), ("43aabb", .truncated), ("6261", .truncated),
            ("8101" + "02", .trailing(1)), ("82" + "01", .truncated), ("a1" + "01", .truncated),
            ("9f01", .truncated), ("5f4101", .truncated), ("bf01ff", .malformed(0xFF)),
            ("1c", .malformed(0x1C)), ("1f", .malformed(0x1F)), ("ff", .malformed(0xFF)), ("f818", .malformed(0xF8)),
            ("fc", .malformed(0xFC)), ("5f6161ff", .malformed(0x61)), ("5f5f4101ffff", .malformed(0x5F)),
            ("61ff", .invalidText), ("62c328", .invalidText), ("df00", .malformed(0xDF)),
            // Lengths that nobody has the memory for.
            ("9bffffffffffffffff", .truncated), ("bbffffffffffffffff", .truncated), ("5bffffffffffffffff", .truncated),
            (String(repeating: "81", count: 200) + "00", .tooDeep), (String(repeating: "9f", count: 200), .tooDeep),
            (String(repeating: "c1", count: 200) + "00", .tooDeep),
        ]
        for (text, fault) in faults {
            #expect(throws: fault, "\(text.prefix(40))") { try CBORValue(decoding: pdu(text)) }
        }
    }

    @Test func `anything is an item or an error, and what is read is written the same`() throws {
        var source = FuzzSource(seed: 8949)
        var count = 0
        for _ in 0..<20_000 {
            guard let value = try? CBORValue(decoding: source.octets(upTo: 40)) else { continue }
            // Not a number is not equal to itself.
            if "\(value)".contains("nan") { continue }
            #expect(try CBORValue(decoding: value.encoded) == value)
            count += 1
        }
        #expect(count > 100)
    }
}
