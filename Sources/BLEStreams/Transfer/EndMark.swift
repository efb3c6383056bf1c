/// How a peer says where a message that arrives in chunks ends.
public struct EndMark: Hashable, Sendable {
    enum Rule: Hashable, Sendable {
        case suffix([UInt8])
        case ownChunk([UInt8])
        case delimiter([UInt8])
        case lengthPrefix(octets: Int, order: ByteOrder)
    }

    /// The order of the octets of a number.
    public enum ByteOrder: Hashable, Sendable {
        /// Least significant first, as everywhere in Bluetooth.
        case littleEndian
        /// Most significant first.
        case bigEndian
    }

    let rule: Rule

    /// The message ends with the chunk that ends with the mark: a chunk of its own, the end of the last chunk, or
    /// split over several chunks. The mark is taken off.
    ///
    /// A mark in the middle of a chunk is part of the message. An empty mark traps.
    public static func endOfMessage(_ mark: String = "EOM") -> EndMark { endOfMessage(Array(mark.utf8)) }

    /// As ``endOfMessage(_:)-(String)``, with octets.
    public static func endOfMessage(_ mark: [UInt8]) -> EndMark {
        precondition(!mark.isEmpty, "an end mark has at least one octet")
        return EndMark(rule: .suffix(mark))
    }

    /// The message ends with the chunk that is exactly the mark; for data that may itself end like the mark.
    public static func ownChunk(_ mark: String) -> EndMark { ownChunk(Array(mark.utf8)) }

    /// As ``ownChunk(_:)-(String)``, with octets.
    public static func ownChunk(_ mark: [UInt8]) -> EndMark {
        precondition(!mark.isEmpty, "an end mark has at least one octet")
        return EndMark(rule: .ownChunk(mark))
    }

    /// A message ends wherever the mark stands, and what follows begins the next one: `"\n"` for lines.
    public static func delimiter(_ mark: String) -> EndMark { delimiter(Array(mark.utf8)) }

    /// As ``delimiter(_:)-(String)``, with octets.
    public static func delimiter(_ mark: [UInt8]) -> EndMark {
        precondition(!mark.isEmpty, "an end mark has at least one octet")
        return EndMark(rule: .delimiter(mark))
    }

    /// A message begins with its length in octets, the prefix not counted, as a number of 1 to 8 octets.
    public static func lengthPrefix(octets: Int, order: ByteOrder = .littleEndian) -> EndMark {
        precondition((1...8).contains(octets), "a length has 1 to 8 octets")
        return EndMark(rule: .lengthPrefix(octets: octets, order: order))
    }
}
