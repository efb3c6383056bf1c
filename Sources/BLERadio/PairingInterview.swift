public import BLEProtocol

/// A device's input and output capability for pairing. The capabilities of both devices decide what the pairing asks.
///
/// Source: Core Specification, Vol 3, Part H, 2.3.2.
public enum PairingCapability: Hashable, Sendable, CaseIterable {
    /// It can show six digits.
    case displayOnly
    /// It can show six digits, and take yes or no.
    case displayYesNo
    /// Digits can be entered.
    case keyboardOnly
    /// None of these: only Just Works is possible.
    case noInputNoOutput
    /// It can show six digits, and digits can be entered.
    case keyboardDisplay
}

/// What a pairing asks. Printing, interpolating or dumping it shows no number.
public enum PairingQuestion: Hashable, Sendable {
    /// Which passkey does the peer show? 0 to 999,999.
    case passkey
    /// Does the peer show the same number? 0 to 999,999, to be shown with six digits.
    case comparison(UInt32)
    /// Show this passkey, with six digits, until the pairing ends; `typed` counts the digits typed on the peer so far,
    /// if it reports that. It needs no answer, but may be refused.
    case display(UInt32, typed: Int)
}

extension PairingQuestion: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The question without its number.
    public var description: String {
        switch self {
        case .passkey: "passkey to enter"
        case .comparison: "numbers to compare"
        case .display(_, let typed): "passkey to show, \(typed) digits typed"
        }
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An answer to a question of a pairing. Printing, interpolating or dumping it shows no number.
public enum PairingAnswer: Hashable, Sendable {
    /// The numbers are the same.
    case accept
    /// The passkey that the peer shows, 0 to 999,999.
    case passkey(UInt32)
    /// Refuses, with the reason that the pairing then fails with.
    case refuse(PairingFailure)
}

extension PairingAnswer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The answer without its number.
    public var description: String {
        switch self {
        case .accept: "yes"
        case .passkey: "a passkey"
        case .refuse(let failure): "no: \(failure)"
        }
    }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Answers the questions of a pairing; passed to a radio that pairs.
public struct PairingInterview: Sendable {
    /// Answers a question. The first answer counts; none is needed once the pairing has ended.
    public typealias Reply = @Sendable (PairingAnswer) -> Void

    /// The capability that the device claims. The radio asks nothing beyond it, provided that the peer follows the
    /// protocol.
    public let capability: PairingCapability

    /// The peer's out-of-band data; if present, it authenticates the pairing and no question is asked. A radio that
    /// doesn't support out-of-band pairing fails.
    public let outOfBand: OutOfBandData?

    /// Called with a question, on any thread, and must not block; the answer may come later.
    public let ask: @Sendable (PairingQuestion, @escaping Reply) -> Void

    /// Makes one.
    public init(
        _ capability: PairingCapability,
        outOfBand: OutOfBandData? = nil,
        ask: @escaping @Sendable (PairingQuestion, @escaping Reply) -> Void
    ) {
        self.capability = capability
        self.outOfBand = outOfBand
        self.ask = ask
    }

    /// Asks nothing: Just Works in the specification's terms.
    public static let justWorks = PairingInterview(.noInputNoOutput) { _, reply in reply(.refuse(.needsAnswers)) }
}
