public import BLEProtocol

/// What became of an indication, for one central.
public struct IndicationOutcome: Sendable {
    /// Who was to get it.
    public let central: ConnectedCentral

    /// Why it is not confirmed; `nil`: the central has confirmed it.
    public let error: BLEError?

    /// How many octets of the value were sent.
    public let sentCount: Int

    /// Whether octets at the end of the value are missing, since the MTU of the link has no room for them: an indication
    /// takes ``ConnectedCentral/maximumValueLength``, and a central may read the rest.
    ///
    /// Source: Core Specification, Vol 3, Part F, 3.4.7.2.
    public let isCut: Bool

    /// Whether the central has confirmed it.
    public var isConfirmed: Bool { error == nil }
}
