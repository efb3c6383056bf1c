public import BLEProtocol

/// What became of an indication that went to several centrals, for one of them.
public struct IndicationOutcome: Sendable {
    /// Who was to get it.
    public let central: ConnectedCentral

    /// Why it is not confirmed; `nil`: the central has confirmed it.
    public let error: BLEError?

    /// Whether the central has confirmed it.
    public var isConfirmed: Bool { error == nil }
}
