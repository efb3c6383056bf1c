public import BLEProtocol

/// What became of a notification, for one central.
public struct NotificationOutcome: Sendable {
    /// Who was to get it.
    public let central: ConnectedCentral

    /// Why it is not sent to this one; `nil`: it leaves as soon as the radio takes it.
    public let error: BLEError?

    /// How many octets of the value are sent.
    public let sentCount: Int

    /// Whether octets at the end of the value are missing, since the MTU of the link has no room for them: a
    /// notification takes ``ConnectedCentral/maximumValueLength``, and a central may read the rest.
    ///
    /// Source: Core Specification, Vol 3, Part F, 3.4.7.1.
    public let isCut: Bool

    /// How many values were dropped for this one: older ones of its characteristic that waited, or this one where ``error`` says
    /// so. 0 for whoever waits for room.
    public let droppedCount: Int

    /// Whether it is on its way.
    public var isSent: Bool { error == nil }
}
