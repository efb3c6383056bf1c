public import BLEProtocol

extension PeripheralServer {
    /// The outcome of an indication for one central.
    public struct IndicationOutcome: Sendable {
        /// The central that it was sent to.
        public let central: ConnectedCentral

        /// The reason why it was not confirmed; `nil`: the central has confirmed it.
        public let error: BLEError?

        /// How many octets of the value were sent.
        public let sentCount: Int

        /// Whether octets at the end of the value were cut off because the link's MTU is too small for them: an
        /// indication takes ``ConnectedCentral/maximumValueLength``, and a central may read the rest.
        ///
        /// Source: Core Specification, Vol 3, Part F, 3.4.7.2.
        public let isCut: Bool

        /// Whether the central has confirmed it.
        public var isConfirmed: Bool { error == nil }
    }
}
