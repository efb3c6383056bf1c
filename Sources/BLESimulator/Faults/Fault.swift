public import BLEProtocol

/// A fault of a simulated air: a rule that says what happens, to which PDUs or links, and how often.
///
/// ```swift
/// let central = air.adapter(), sensor = air.adapter(name: "sensor")
/// air.faults.add(.dropLink(after: 12, .notifications), on: sensor)
/// air.faults.add(.swallow(.readResponses).times(1))
/// air.faults.add(.refuseConnections(2), between: central, and: sensor)
/// air.faults.add(.hold(.writeResponses, behind: 1))          // a notification overtakes the response
/// air.faults.add(.outOfRange(after: .seconds(10), lasting: .seconds(3)), on: sensor)
/// ```
///
/// Randomness comes from the air's timeline: in virtual time, the same seed gives the same faults.
public struct Fault: Sendable {
    enum Action: Sendable {
        case pdu(PDUFilter, PDUFault)
        case dropLinkAfterPDUs(Int, PDUFilter, DisconnectReason)
        case dropLinkAfterTime(Duration, DisconnectReason)
        case loseLinks(mean: Duration, DisconnectReason)
        case neverEstablish(Int, of: Int)
        case connection(ConnectionFault)
        case outOfRange(after: Duration, lasting: Duration?)
        case missAdvertisements(Double)
    }

    enum PDUFault: Sendable {
        case swallow
        case overflow
        case duplicate(Int)
        case delay(Duration)
        case hold(behind: Int, atMost: Duration)
        case replace(@Sendable ([UInt8]) -> [UInt8])
        case corrupt
        case dropLink(DisconnectReason)
    }

    enum ConnectionFault: Sendable {
        case refuse(DisconnectReason.Kind)
        case ignore
        case delay(Duration)
    }

    let action: Action
    private(set) var limit: Int?
    private(set) var skipped = 0
    /// Notes that the fault has struck.
    private(set) var mark: StrikeMark?

    private init(_ action: Action, limit: Int? = nil) {
        self.action = action
        self.limit = limit
    }

    /// The same fault, but it strikes at most this many times.
    public func times(_ count: Int) -> Fault {
        var copy = self
        copy.limit = max(count, 0)
        return copy
    }

    /// The same fault, but it strikes every time.
    public func always() -> Fault {
        var copy = self
        copy.limit = nil
        return copy
    }

    /// The same fault, but the mark notes when it strikes.
    func marking(_ mark: StrikeMark) -> Fault {
        var copy = self
        copy.mark = mark
        return copy
    }

    /// The same fault, but it skips this many occasions first.
    public func skipping(_ count: Int) -> Fault {
        var copy = self
        copy.skipped = max(count, 0)
        return copy
    }
}

// MARK: - Links that end

extension Fault {
    /// Drops the link when this many matching PDUs have arrived on it; 0: as soon as it is up. Strikes once.
    ///
    /// Both sides get the reason. PDUs that arrived before are delivered first.
    public static func dropLink(
        after count: Int,
        _ pdus: PDUFilter = .any,
        reason: DisconnectReason.Kind = .supervisionTimeout
    ) -> Fault {
        Fault(.dropLinkAfterPDUs(max(count, 0), pdus, DisconnectReason(onAir: reason)), limit: 1)
    }

    /// Drops the link when a matching PDU is sent, before it arrives. Strikes once.
    public static func dropLink(
        insteadOf pdus: PDUFilter,
        reason: DisconnectReason.Kind = .supervisionTimeout
    ) -> Fault {
        Fault(.pdu(pdus, .dropLink(DisconnectReason(onAir: reason))), limit: 1)
    }

    /// Drops the link this long after it was made; an existing one, this long from now. Strikes once.
    public static func dropLink(
        after time: Duration,
        reason: DisconnectReason.Kind = .supervisionTimeout
    ) -> Fault {
        Fault(.dropLinkAfterTime(time, DisconnectReason(onAir: reason)), limit: 1)
    }

    /// Drops links at random, each after this time on average. Strikes every time.
    public static func loseLinks(
        every mean: Duration,
        reason: DisconnectReason.Kind = .supervisionTimeout
    ) -> Fault {
        Fault(.loseLinks(mean: max(mean, .nanoseconds(1)), DisconnectReason(onAir: reason)))
    }

    /// Makes links that are never established: the central gets one, nothing arrives on it, and after six connection
    /// intervals it ends with ``DisconnectReason/Kind/failedToEstablish`` (Core Specification, Vol 6, Part B, 4.5).
    /// Strikes every time.
    ///
    /// ```swift
    /// air.faults.add(.neverEstablish(3, of: 4))    // every fourth link carries something
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many links of each `total`; the first ones are affected.
    ///   - total: the number of links after which the count restarts.
    public static func neverEstablish(_ count: Int = 1, of total: Int = 1) -> Fault {
        Fault(.neverEstablish(max(count, 0), of: max(total, 1)))
    }

    /// Puts the peers out of range of each other: no reports, no connections, and links fall silent, until the
    /// supervision timeout ends them or the duration is over. Strikes once.
    ///
    /// - Parameters:
    ///   - delay: the time from when the fault is added until it begins.
    ///   - duration: how long it lasts; `nil`: until the fault is removed.
    public static func outOfRange(after delay: Duration = .zero, lasting duration: Duration? = nil) -> Fault {
        Fault(.outOfRange(after: delay, lasting: duration), limit: 1)
    }
}

// MARK: - Connections and advertisements

extension Fault {
    /// Makes the next attempts to connect fail, without a link.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - reason: why; ``DisconnectReason/Kind/failedToEstablish`` is the most common failure on air, and worth a
    ///     retry.
    public static func refuseConnections(
        _ count: Int = 1,
        reason: DisconnectReason.Kind = .failedToEstablish
    ) -> Fault {
        Fault(.connection(.refuse(reason)), limit: max(count, 0))
    }

    /// The peer advertises but never answers an attempt to connect. Strikes every time, once for each attempt, which is
    /// not answered until the fault is removed.
    public static let ignoreConnections = Fault(.connection(.ignore))

    /// Makes attempts to connect take this much longer. Strikes every time.
    public static func delayConnections(by delay: Duration) -> Fault {
        Fault(.connection(.delay(delay)))
    }

    /// Scans and attempts to connect miss each advertisement with this probability, 0 to 1.
    public static func missAdvertisements(_ probability: Double) -> Fault {
        Fault(.missAdvertisements(min(max(probability, 0), 1)))
    }
}

// MARK: - PDUs

extension Fault {
    /// Loses matching PDUs, like a peer that never answers. Strikes every time.
    public static func swallow(_ pdus: PDUFilter) -> Fault { Fault(.pdu(pdus, .swallow)) }

    /// Drops matching PDUs at the receiver, like a full receive queue, and reports how many. Strikes every time.
    public static func overflow(_ pdus: PDUFilter) -> Fault { Fault(.pdu(pdus, .overflow)) }

    /// Delivers matching PDUs several times. Strikes every time.
    public static func duplicate(_ pdus: PDUFilter, copies: Int = 1) -> Fault {
        Fault(.pdu(pdus, .duplicate(max(copies, 0))))
    }

    /// Delivers matching PDUs later; PDUs sent after them overtake them. Strikes every time.
    public static func delay(_ pdus: PDUFilter, by delay: Duration) -> Fault {
        Fault(.pdu(pdus, .delay(delay)))
    }

    /// Holds each matching PDU back until `count` others, sent after it in the same direction, have arrived, for at
    /// most `limit`. Strikes every time.
    public static func hold(_ pdus: PDUFilter, behind count: Int, atMost limit: Duration = .seconds(1)) -> Fault {
        Fault(.pdu(pdus, .hold(behind: max(count, 1), atMost: limit)))
    }

    /// Replaces matching PDUs with other octets. Strikes every time.
    public static func replace(_ pdus: PDUFilter, with octets: [UInt8]) -> Fault {
        replace(pdus) { _ in octets }
    }

    /// Changes matching PDUs. The closure gets the octets, opcode first; it must not block or call the air. Strikes
    /// every time.
    public static func replace(_ pdus: PDUFilter, by change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Fault {
        Fault(.pdu(pdus, .replace(change)))
    }

    /// Flips one random bit of each matching PDU. Strikes every time.
    public static func corrupt(_ pdus: PDUFilter) -> Fault { Fault(.pdu(pdus, .corrupt)) }
}

extension DisconnectReason {
    /// A reason with the HCI status that a radio reports for it (Core Specification, Vol 1, Part F).
    init(onAir kind: Kind) {
        let status: UInt8? =
            switch kind {
            case .closedByPeer: 0x13
            case .closedLocally: 0x16
            case .supervisionTimeout: 0x08
            case .failedToEstablish: 0x3E
            case .authenticationFailed: 0x05
            case .keyMissing: 0x06
            case .adapterOff, .transactionTimeout, .protocolViolation, .other: nil
            }
        self.init(kind, hciStatus: status)
    }
}
