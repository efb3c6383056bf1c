import Foundation
import Testing

@testable import ble

@Suite struct JSONTests {
    @Test(arguments: [
        ("", #""""#), ("plain", #""plain""#), (#"say "x\y""#, #""say \"x\\y\"""#), ("a\nb\tc\rd", #""a\nb\tc\rd""#),
        ("\0\u{1F}\u{7F}", #""\u0000\u001f\u007f""#), ("温度 é", #""温度 é""#), ("é\n\"", #""é\n\"""#),
        ("\u{9F}\u{202E}x", #""\u009f\u202ex""#), ("\u{E0001}", #""\udb40\udc01""#),
    ])
    func `a string is escaped where a parser or a terminal needs it`(_ text: String, _ expected: String) {
        #expect(JSON.string(text).description == expected)
    }

    @Test func `Foundation reads any scalar back as it was`() throws {
        let scalars =
            (0...0x2FFFF).compactMap(Unicode.Scalar.init) + (0xE0000...0xE01FF).compactMap(Unicode.Scalar.init)
        for start in stride(from: 0, to: scalars.count, by: 4096) {
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars[start..<min(start + 4096, scalars.count)])
            let octets = Data(JSON.array([.string(text)]).description.utf8)
            let back = try #require(try JSONSerialization.jsonObject(with: octets) as? [String])
            #expect(back.first.map { Array($0.unicodeScalars) } == Array(text.unicodeScalars))
        }
    }

    @Test func `an object keeps the order of its members, and leaves out those without a value`() {
        let json = JSON.object(
            ("z", .number(-5)),
            ("none", nil),
            ("a", .array([.decimal(1.5), .null, .bool(true), .decimal(.nan)])),
            ("\"", .object([]))
        )
        #expect(json.description == #"{"z":-5,"a":[1.5,null,true,0],"\"":{}}"#)
    }
}
