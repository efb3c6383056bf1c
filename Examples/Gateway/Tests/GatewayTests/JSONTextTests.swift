import Foundation
import Testing

@testable import Gateway

/// What the gateway writes is read by others' parsers.
@Suite struct JSONTextTests {
    @Test func `Foundation reads each character back as it was`() throws {
        let scalars = (0...0xFFFF).compactMap(Unicode.Scalar.init) + (0x1F300...0x1F5FF).compactMap(Unicode.Scalar.init)
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        let octets = Data(JSONText.object(("text", .string(text)), ("none", nil)).octets)
        let back = try #require(try JSONSerialization.jsonObject(with: octets) as? [String: String])
        #expect(back["text"].map { Array($0.unicodeScalars) } == scalars)
        #expect(octets.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
    }

    @Test func `values on one line`() {
        let json = JSONText.object(
            ("z", .number(-5)),
            ("a", .array([.decimal(1.5), .null, .bool(false), .decimal(.infinity)])),
            ("hex", .hex([0x00, 0x9A, 0xFF])),
            ("\"", "\n")
        )
        #expect(json.text == #"{"z":-5,"a":[1.5,null,false,null],"hex":"009aff","\"":"\u000a"}"#)
    }
}
