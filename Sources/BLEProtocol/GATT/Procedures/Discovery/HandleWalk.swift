/// The progress through a range of handles that is requested in parts.
///
/// It ends with every peer: each step continues after the last handle of the answer, and an answer that makes no
/// progress is the last one. Each entry counts once, so no peer can make a list longer than its range.
struct HandleWalk: Hashable, Sendable {
    /// All handles that an attribute can have.
    static let allHandles: ClosedRange<UInt16> = 0x0001...0xFFFF

    let range: ClosedRange<UInt16>

    /// The first handle to request.
    private(set) var start: UInt16

    /// The lowest handle that the next entry may have; above the range when that is used up.
    private var nextEntry: Int

    init(_ range: ClosedRange<UInt16>) {
        self.range = range
        start = range.lowerBound
        nextEntry = Int(range.lowerBound)
    }

    var end: UInt16 { range.upperBound }

    /// Whether a handle was requested.
    func contains(_ handle: UInt16) -> Bool { handle >= start && handle <= end }

    /// Whether an entry is within the range and after all earlier entries.
    mutating func accepts(_ handle: UInt16) -> Bool {
        guard Int(handle) >= nextEntry, handle <= end else { return false }
        nextEntry = Int(handle) + 1
        return true
    }

    /// Continues after the last handle of an answer; `false` if the range is used up, or the answer makes no progress.
    mutating func advance(past last: UInt16) -> Bool {
        guard last >= start, last < end else { return false }
        start = last + 1
        nextEntry = max(nextEntry, Int(start))
        return true
    }

    /// Continues at a handle that may lie further ahead.
    mutating func skip(to handle: UInt16) {
        guard handle > start, handle <= end else { return }
        start = handle
    }
}

extension ATTError {
    /// Whether a list ends here because nothing is left to find.
    var endsDiscovery: Bool { self == .attributeNotFound }

    /// Whether a list of optional attributes ends here: nothing is left to find, or the peer will never list them.
    ///
    /// After any other error the list is not complete: the link is not secure enough, the database changed, or the peer
    /// could not answer just now. What is left out would be missing for as long as the list is remembered.
    var endsOptionalList: Bool {
        switch self {
        case .attributeNotFound, .invalidHandle, .readNotPermitted, .invalidPDU, .requestNotSupported,
            .unsupportedGroupType:
            true
        default: false
        }
    }
}

extension ATTDecodingError {
    /// An entry of a list has a length that the declaration can't have.
    static func impossibleEntry(in opcode: ATTOpcode) -> ATTDecodingError {
        ATTDecodingError(opcode: opcode, offset: 1, reason: .invalidEntryLength)
    }
}
