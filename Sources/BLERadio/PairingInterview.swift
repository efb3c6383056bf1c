public import BLEProtocol

/// What a device can do for the person who pairs it. That of both devices together decides what the pairing asks.
///
/// Source: Core Specification, Vol 3, Part H, 2.3.2.
public enum PairingCapability: Hashable, Sendable, CaseIterable {
    /// It can show six digits.
    case displayOnly
    /// It can show six digits, and take yes or no.
    case displayYesNo
    /// Digits can be entered.
    case keyboardOnly
    /// It can do nothing of that: what is left is Just Works.
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
    /// Show this passkey, with six digits, until the pairing ends; so many of them have been typed on the peer, where it
    /// tells. It needs no answer, but may be refused.
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

/// What a pairing is answered. Printing, interpolating or dumping it shows no number.
public enum PairingAnswer: Hashable, Sendable {
    /// The numbers are the same.
    case accept
    /// The passkey that the peer shows, 0 to 999,999.
    case passkey(UInt32)
    /// No, and why: that is what the pairing then fails with.
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

/// Who answers what a pairing asks: what a radio is given to pair with.
public struct PairingInterview: Sendable {
    /// Answers a question. The first answer counts; none is needed once the pairing has ended.
    public typealias Reply = @Sendable (PairingAnswer) -> Void

    /// What the device claims to be able to do. The radio asks nothing beyond that, where the peer keeps to the protocol.
    public let capability: PairingCapability

    /// What the peer has told by other means than Bluetooth; where there is any it makes sure of the pairing, and nothing is
    /// asked. A radio that can't pair by it fails.
    public let outOfBand: OutOfBandData?

    /// Is told a question, on any thread, and must not block; the answer may come later.
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

    /// Asks nobody: what the specification calls Just Works.
    public static let justWorks = PairingInterview(.noInputNoOutput) { _, reply in reply(.refuse(.needsAnswers)) }
}
