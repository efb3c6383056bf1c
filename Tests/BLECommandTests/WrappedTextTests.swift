import Testing

@testable import ble

/// How long lines are broken for a terminal.
@Suite struct WrappedTextTests {
    @Test(arguments: [
        ("words of a sentence", 40, "words of a sentence"),
        ("words of a sentence", 10, "words of a\n  sentence"),
        ("one  -71 dBm  two", 12, "one  -71 dBm\n  two"),
        ("one  a field that is too long", 12, "one  a field\n  that is\n  too long"),
        ("  0x0010  7A1C0011-5F2B", 16, "  0x0010\n   7A1C0011-5F2B"),
        ("  0x0010  7A1C0011-5F2B", 12, "  0x0010\n    7A1C0011\n    -5F2B"),
        ("12:00  a sentence that is long", 16, "12:00  a\n  sentence that\n  is long"),
        ("00ff  \"a name\"  (read)", 12, "00ff\n  \"a name\"\n  (read)"), ("00ff00ff", 7, "00ff00\nff"),
        ("end it with `ble x y`.", 17, "end it with\n  `ble x y`."),
        ("try `ble long one`", 8, "try `ble\n  long\n  one`"),
        ("nothing for 0.35 s.", 16, "nothing for\n  0.35 s."), ("10 seconds", 7, "10\nseconds"),
        ("    00112233445566", 12, "    00112233\n    445566"),
        ("温度計の名前", 5, "温度\n計の\n名前"),
        ("a\n\nlonger line", 6, "a\n\nlonger\n  line"),
        ("                    far away", 8, "    far\n    away"),
        ("x", 1, "x"), ("", 1, ""), ("温度", 1, "温\n度"),
    ])
    func `lines are broken between fields, then words, then anywhere; what is to be copied is whole`(
        _ text: String,
        _ columns: Int,
        _ expected: String
    ) {
        #expect(text.wrapped(to: columns) == expected)
    }

    @Test func `a pipe gets the lines as they are`() {
        let text = String(repeating: "word ", count: 100)
        #expect(text.wrapped(to: nil) == text)
    }

    @Test(arguments: 1...130) func `nothing is lost, and no line is too long`(_ columns: Int) {
        let text = """
            ble: connect to C4:F2:17:1A:1D:00: timed out: the peripheral did not accept a connection within 1.5 seconds.
              0x0010  7A1C0011-5F2B-4C8E-9D3A-6B70E14F2C55  (read, write without response, write)
                      000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f  "text of a device"
            """
        for hanging in [0, 2, 5, 60] {
            let wrapped = text.wrapped(to: columns, hanging: hanging)
            for line in wrapped.split(separator: "\n") { #expect(line.count <= columns) }
            #expect(wrapped.filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
        }
    }
}
