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
