/// How a message sent in chunks marks its end, for receivers and senders.
///
/// See ``BLEStream/assembled(until:maximumSize:)`` for receiving,
/// ``PeripheralServer/send(_:of:to:endingWith:beginsAnew:onProgress:)`` and
/// ``CharacteristicAccess/send(_:to:endingWith:_:beginsAnew:onProgress:)`` for sending.
public struct EndMark: Hashable, Sendable {
    enum Rule: Hashable, Sendable {
        case ownChunk([UInt8])
        case endOfChunk([UInt8])
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

    /// The message ends with a chunk of its own that is exactly the mark.
    ///
    /// A mark within a longer chunk, even at its end, is part of the message. An empty mark traps.
    public static func endOfMessage(_ mark: String = "EOM") -> EndMark { endOfMessage(Array(mark.utf8)) }

    /// As ``endOfMessage(_:)-(String)``, with octets.
    public static func endOfMessage(_ mark: [UInt8]) -> EndMark {
        precondition(!mark.isEmpty, "an end mark has at least one octet")
        return EndMark(rule: .ownChunk(mark))
    }

    /// The message ends as soon as the received octets end in the mark: as a chunk of its own, at the end of the last
    /// chunk, or split over several chunks. The mark is removed.
    ///
    /// For peers that append the mark to the message before cutting it into chunks. The risk: if data happens to end in
    /// the mark at the end of any chunk, the message ends there, too early and without an error. The senders of this
    /// library cut the message so that this can't happen; other senders may not. A mark in the middle of a chunk is
    /// part of the message. An empty mark traps.
    public static func endOfMessage(atEndOfChunk mark: String) -> EndMark {
        endOfMessage(atEndOfChunk: Array(mark.utf8))
    }

    /// As ``endOfMessage(atEndOfChunk:)-(String)``, with octets.
    public static func endOfMessage(atEndOfChunk mark: [UInt8]) -> EndMark {
        precondition(!mark.isEmpty, "an end mark has at least one octet")
        return EndMark(rule: .endOfChunk(mark))
    }

    /// A message ends wherever the mark occurs, and the following octets begin the next one: `"\n"` for lines. An empty
    /// mark traps.
    public static func delimiter(_ mark: String) -> EndMark { delimiter(Array(mark.utf8)) }

    /// As ``delimiter(_:)-(String)``, with octets.
    public static func delimiter(_ mark: [UInt8]) -> EndMark {
        precondition(!mark.isEmpty, "an end mark has at least one octet")
        return EndMark(rule: .delimiter(mark))
    }

    /// A message begins with its length in octets, excluding the prefix, as a number of 1 to 8 octets; other sizes
    /// trap.
    public static func lengthPrefix(octets: Int, order: ByteOrder = .littleEndian) -> EndMark {
        precondition((1...8).contains(octets), "a length has 1 to 8 octets")
        return EndMark(rule: .lengthPrefix(octets: octets, order: order))
    }
}
