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
