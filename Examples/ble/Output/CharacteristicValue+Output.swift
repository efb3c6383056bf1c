import BLEStreams

extension CharacteristicValue {
    /// The value as an object: `value`, `text` where it is UTF-8, `time`.
    var json: JSON {
        .object(("value", .hex(bytes)), ("text", .string(text)), ("time", .string(time.isoText)))
    }

    /// The value for a person: hexadecimal, and the text in it where there is one.
    var readableText: String { bytes.readableText }
}

extension Collection<UInt8> {
    /// Octets for a person: hexadecimal, and the text in them where there is one.
    var readableText: String { isEmpty ? "(empty)" : hexText + (printableText.map { "  \"\($0)\"" } ?? "") }
}
