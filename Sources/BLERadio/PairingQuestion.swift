/// What a pairing asks. Printing, interpolating or dumping it shows no number.
public enum PairingQuestion: Hashable, Sendable {
    /// Which passkey does the peer show? 0 to 999,999.
    case passkey
    /// Does the peer show the same number? 0 to 999,999, to be shown with six digits.
    case comparison(UInt32)
    /// Show this passkey, with six digits, until the pairing ends; `typed` counts the digits typed on the peer so far,
    /// if it reports that. It needs no answer, but may be refused.
    case display(UInt32, typed: Int)

    /// Whether the pairing waits for an answer.
    package var needsAnswer: Bool { if case .display = self { false } else { true } }
}

extension PairingQuestion: CustomStringConvertible, CustomReflectable {
    /// The question without its number.
    public var description: String {
        switch self {
        case .passkey: "passkey to enter"
        case .comparison: "numbers to compare"
        case .display(_, let typed): "passkey to show, \(typed) digits typed"
        }
    }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
