public import BLEProtocol

extension PeripheralServer {
    /// The outcome of a notification for one central.
    public struct NotificationOutcome: Sendable {
        /// The central that it is sent to.
        public let central: ConnectedCentral

        /// The reason why it is not sent to this central; `nil`: it is sent as soon as the radio takes it.
        public let error: BLEError?

        /// How many octets of the value are sent.
        public let sentCount: Int

        /// Whether octets at the end of the value are cut off because the link's MTU is too small for them: a
        /// notification takes ``ConnectedCentral/maximumValueLength``, and a central may read the rest.
        ///
        /// Source: Core Specification, Vol 3, Part F, 3.4.7.1.
        public let isCut: Bool

        /// How many values were dropped for this central: older waiting ones of the characteristic, or this one if
        /// ``error`` says so. 0 for a call that waits for room.
        public let droppedCount: Int

        /// Whether it was queued for sending.
        public var isSent: Bool { error == nil }
    }
}
