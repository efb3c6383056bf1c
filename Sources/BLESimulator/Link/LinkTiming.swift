internal import BLEProtocol

/// How fast a link carries PDUs: a model of the link layer's connection events.
///
/// A link has one event in each ``connectionInterval``, in which both sides exchange link layer packets of up to
/// ``dataLength`` octets: as many as fit into the interval and as ``packetsPerEvent`` allows. A PDU arrives in the
/// event that carries its last packet; an answer to it leaves in a later one, so a request and its response take two
/// intervals, as they do on air. Source: Core Specification, Vol 6, Part B, 4.5.
public struct LinkTiming: Hashable, Sendable {
    /// The PHY: the radio's modulation.
    public enum PHY: String, Hashable, Sendable, CaseIterable {
        /// 1 Mbit/s; every device has it.
        case le1M
        /// 2 Mbit/s.
        case le2M
    }

    /// The time between two connection events: 7.5 ms to 4 s on air; zero: all PDUs arrive as soon as possible.
    public var connectionInterval: Duration

    /// The packets that each side may send in one event; `nil`: as many as fit into the interval.
    public var packetsPerEvent: Int?

    /// The modulation.
    public var phy: PHY

    /// The payload of one link layer packet, 27 to 251 octets.
    public var dataLength: Int

    /// The connection events that the peripheral may skip while it has nothing to send, 0 to 499.
    public var peripheralLatency: Int

    /// The silence after which a link is lost, 100 ms to 32 s.
    public var supervisionTimeout: Duration

    /// Describes a link's timing. Values beyond what a radio can do are allowed, except intervals below zero and data
    /// lengths below 1.
    public init(
        connectionInterval: Duration,
        packetsPerEvent: Int? = nil,
        phy: PHY = .le1M,
        dataLength: Int = 251,
        peripheralLatency: Int = 0,
        supervisionTimeout: Duration = .milliseconds(420)
    ) {
        precondition(connectionInterval >= .zero && dataLength > 0, "a link needs time and room")
        precondition(packetsPerEvent.map { $0 > 0 } ?? true, "a link without packets carries nothing")
        precondition(peripheralLatency >= 0 && supervisionTimeout > .zero, "latency and timeout count from zero")
        self.connectionInterval = connectionInterval
        self.packetsPerEvent = packetsPerEvent
        self.phy = phy
        self.dataLength = dataLength
        self.peripheralLatency = peripheralLatency
        self.supervisionTimeout = supervisionTimeout
    }

    /// The default of Linux: an interval of 30 ms, a timeout of 420 ms; six packets in an event. On an adapter of this
    /// machine, a program with `CAP_NET_ADMIN` requests ``ConnectionParameters/balanced`` instead.
    public static let linux = LinkTiming(connectionInterval: .milliseconds(30), packetsPerEvent: 6)

    /// The fastest that a radio allows: an interval of 7.5 ms on the 2 Mbit/s PHY.
    public static let fast = LinkTiming(connectionInterval: .microseconds(7500), phy: .le2M)

    /// Without connection events: PDUs arrive as soon as possible. For tests that don't concern time.
    public static let immediate = LinkTiming(connectionInterval: .zero)
}

extension LinkTiming {
    /// The most that one direction carries while the other only acknowledges, in octets of PDUs per second.
    ///
    /// `nil` for an ``immediate`` link, which has no bound.
    public func throughput(pduSize: Int) -> Double? {
        guard connectionInterval > .zero, pduSize > 0 else { return nil }
        // The packets of a long sequence of PDUs; only the last packet of each is short.
        var octets = 0
        var budget = EventBudget(self)
        var sent = 0
        let frame = pduSize + L2CAP.headerSize
        while true {
            let packet = min(dataLength, frame - sent)
            guard budget.take(packet, and: 0) else { break }
            sent += packet
            if sent == frame { sent = 0 }
            octets += packet
        }
        let share = Double(pduSize) / Double(frame)
        let interval = connectionInterval / Duration.seconds(1)
        return Double(octets) * share / interval
    }

    /// How long a packet with this many octets of payload is on air (Vol 6, Part B, 2.1).
    func airTime(of octets: Int) -> Duration {
        // Preamble, access address, header and CRC around the payload.
        switch phy {
        case .le1M: .microseconds((1 + 4 + 2 + 3 + octets) * 8)
        case .le2M: .microseconds((2 + 4 + 2 + 3 + octets) * 4)
        }
    }
}

extension LinkTiming {
    /// The timing with the parameters that a central requests; the controller uses the longest interval.
    func with(_ parameters: ConnectionParameters) -> LinkTiming {
        var timing = self
        timing.connectionInterval = parameters.interval.upperBound
        timing.peripheralLatency = parameters.latency
        timing.supervisionTimeout = parameters.supervisionTimeout
        return timing
    }

    /// The conditions that a radio reports for a link with this timing.
    var conditions: LinkConditions {
        var conditions = LinkConditions()
        conditions.interval = connectionInterval
        conditions.latency = peripheralLatency
        conditions.supervisionTimeout = supervisionTimeout
        conditions.sendingPHY = phy == .le1M ? .le1M : .le2M
        conditions.receivingPHY = conditions.sendingPHY
        conditions.sendingDataLength = dataLength
        conditions.receivingDataLength = dataLength
        return conditions
    }
}

/// The L2CAP framing of ATT.
enum L2CAP {
    /// Length and channel, before each PDU (Vol 3, Part A, 3.1).
    static let headerSize = 4
}

/// The time in one connection event: pairs of packets, one from each side, with a pause after each.
struct EventBudget {
    private static let interFrameSpace = Duration.microseconds(150)

    private let timing: LinkTiming
    private var time: Duration
    private var pairs: Int

    init(_ timing: LinkTiming) {
        self.timing = timing
        time = timing.connectionInterval
        pairs = timing.packetsPerEvent ?? .max
    }

    /// Takes the time for a packet from each side, zero octets for an empty one; `false` if the event is full.
    ///
    /// The first pair always fits: no packet is too long for an event on a link that has events.
    mutating func take(_ first: Int, and second: Int) -> Bool {
        guard pairs > 0 else { return false }
        let cost = timing.airTime(of: first) + timing.airTime(of: second) + Self.interFrameSpace * 2
        let isFirst = time == timing.connectionInterval
        guard cost <= time || isFirst else { return false }
        time -= min(cost, time)
        pairs -= 1
        return true
    }
}
