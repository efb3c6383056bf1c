import BLEStreams

extension Collection<UInt8> {
    /// The octets in lower-case hexadecimal.
    var hexText: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(count * 2)
        for octet in self {
            text.append(digits[Int(octet >> 4)])
            text.append(digits[Int(octet & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The octets as text, where they are UTF-8.
    var utf8Text: String? { String(validating: self, as: UTF8.self) }

    /// Octets for a person: hexadecimal, and the text in them where there is one.
    var readableText: String {
        guard !isEmpty else { return "(empty)" }
        // One octet is a number, whatever letter it may be too.
        guard count > 1, let text = utf8Text, text.unicodeScalars.allSatisfy(\.isPrintable) else { return hexText }
        return "\(hexText)  \"\(text)\""
    }
}

extension String {
    /// The text without anything that could move a terminal's cursor or change its colours: a device may call itself
    /// whatever it likes.
    var harmless: String {
        unicodeScalars.map { $0.isPrintable ? "\($0)" : "\\u{\(String($0.value, radix: 16))}" }.joined()
    }
}

extension Unicode.Scalar {
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}

extension CharacteristicValue {
    /// The value as an object: `value`, `text` where it is UTF-8, `time`.
    var json: JSON {
        .object(("value", .hex(bytes)), ("text", .string(text)), ("time", .string(time.isoText)))
    }

    /// The value for a person.
    var readableText: String { bytes.readableText }
}
