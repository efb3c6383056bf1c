import BLEStreams
import ConsoleOutput

extension Collection<UInt8> {
    /// The octets in lower-case hexadecimal.
    var hexText: String {
        String(unsafeUninitializedCapacity: 2 * count) { text in
            var position = 0
            for octet in self {
                text[position] = Self.digit(octet >> 4)
                text[position + 1] = Self.digit(octet & 15)
                position += 2
            }
            return position
        }
    }

    private static func digit(_ number: UInt8) -> UInt8 {
        number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
    }

    /// The octets as text, if they are UTF-8.
    var utf8Text: String? { String(validating: self, as: UTF8.self) }

    /// Octets for a person: hexadecimal, and the text that they contain, if any.
    var readableText: String {
        guard !isEmpty else { return "(empty)" }
        // One octet is shown as a number, even if it is also a letter.
        guard count > 1, let text = utf8Text, text.unicodeScalars.allSatisfy(\.isPrintable) else { return hexText }
        return "\(hexText)  \"\(text.harmless)\""
    }

    /// The same, with the meaning of the octets if their type is known: `0648  beats per minute 72`.
    func readableText(of uuid: BluetoothUUID?) -> String {
        let decoded = isEmpty ? nil : uuid.flatMap { Decoders.decode(self, of: $0) }
        guard let decoded, !decoded.isText(of: self) || count == 1 else { return readableText }
        return "\(hexText)  \(decoded.text)"
    }
}

extension CharacteristicValue {
    /// The value as an object: `value`, `text` if it is UTF-8, `time`, and `decoded` if its type is known.
    func json(of uuid: BluetoothUUID? = nil) -> JSON {
        .object(
            ("value", .hex(bytes)),
            ("text", .string(text)),
            ("time", .string(time.isoText)),
            ("decoded", uuid.flatMap { Decoders.decode(bytes, of: $0)?.json })
        )
    }
}
