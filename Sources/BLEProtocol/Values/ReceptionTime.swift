/// When octets were received, and the source of that time.
public struct ReceptionTime: Hashable, Sendable {
    /// The source of the time.
    public enum Source: String, Hashable, Sendable {
        /// The kernel, when it put the PDU into the socket's queue.
        case kernel
        /// This program, when it read the PDU.
        case reading
        /// The virtual clock of a simulation.
        case simulation
    }

    /// The time since 1970-01-01 00:00:00 UTC.
    public var sinceEpoch: Duration

    /// The source of the time.
    public var source: Source

    /// Makes a time from the duration since 1970-01-01 00:00:00 UTC.
    public init(sinceEpoch: Duration, source: Source) {
        self.sinceEpoch = sinceEpoch
        self.source = source
    }
}
