public import BLEProtocol

/// Answers the questions of a pairing; passed to a radio that pairs.
public struct PairingInterview: Sendable {
    /// Answers a question. The first answer counts; none is needed once the pairing has ended.
    public typealias Reply = @Sendable (PairingQuestion.Answer) -> Void

    /// The capability that the device claims. The radio asks nothing beyond it, provided that the peer follows the
    /// protocol.
    public let capability: PairingCapability

    /// The peer's out-of-band data; if present, it authenticates the pairing and no question is asked. A radio that
    /// doesn't support out-of-band pairing fails.
    public let outOfBand: OutOfBandData?

    /// Called with a question, on any thread, and must not block; the answer may come later.
    public let ask: @Sendable (PairingQuestion, @escaping Reply) -> Void

    /// Makes an interview.
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
