/// The current conditions of a link: its timing, its PHYs, its signal strength.
///
/// A value is `nil` if this program can't know it; ``whyIncomplete`` then says why. On Linux the signal strength and
/// the power require the capability `CAP_NET_ADMIN`, the others `CAP_NET_RAW` and a link made while this radio was in
/// use; PHYs and packet lengths are known once the controller has reported a change.
public struct LinkConditions: Hashable, Sendable {
    /// How a radio modulates its signal (Core Specification, Vol 6, Part A, 3).
    public enum PHY: String, Hashable, Sendable, CaseIterable {
        /// 1 Mbit/s; every device has it.
        case le1M = "1M"
        /// 2 Mbit/s.
        case le2M = "2M"
        /// 1 Mbit/s with error correction, for long distances.
        case leCoded = "Coded"
    }

    /// The time between two connection events.
    public var interval: Duration?

    /// How many connection events in a row the peripheral may skip.
    public var latency: Int?

    /// The silence after which the link is lost.
    public var supervisionTimeout: Duration?

    /// The PHY on which this side sends.
    public var sendingPHY: PHY?

    /// The PHY on which the other side sends.
    public var receivingPHY: PHY?

    /// The largest payload of a link layer packet from this side, in octets: 27 to 251.
    public var sendingDataLength: Int?

    /// The largest payload of a link layer packet from the other side, in octets: 27 to 251.
    public var receivingDataLength: Int?

    /// The received signal strength of the other side, in dBm.
    public var rssi: Int?

    /// The transmit power of this side, in dBm.
    public var sendingPower: Int?

    /// How the peripheral's requests have taken the link beyond the program's limits; `nil` if it is within them, or
    /// there are none.
    public var breach: ConnectionParameters.LimitBreach?

    /// Why some of the values are `nil`, with a remedy; `nil` if the radio has no more to report.
    ///
    /// It is not compared: conditions are equal if their values are.
    public var whyIncomplete: BLEError? {
        get { incompleteness.value }
        set { incompleteness.value = newValue }
    }

    private var incompleteness = Uncompared<BLEError?>(nil)

    /// Makes conditions without any known value.
    public init() {}
}

extension ConnectionParameters {
    /// A link is beyond the ``ConnectionParameters/Limits`` of the program, with the corrections so far.
    public struct LimitBreach: Hashable, Sendable {
        /// How often the program's own parameters have been requested again since the link was last within the limits
        /// for a minute.
        public var corrections: Int

        /// Whether no further correction follows.
        public var isFinal: Bool

        /// Why the parameters could not be requested; `nil` if they were. It is not compared.
        public var error: BLEError? {
            get { failure.value }
            set { failure.value = newValue }
        }

        private var failure: Uncompared<BLEError?>

        /// Describes a breach.
        package init(corrections: Int, isFinal: Bool, error: BLEError? = nil) {
            self.corrections = corrections
            self.isFinal = isFinal
            failure = Uncompared(error)
        }
    }
}
