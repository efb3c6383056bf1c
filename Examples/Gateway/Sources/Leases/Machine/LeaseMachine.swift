/// Decides which of the peripherals that a gateway hears it owns. LEASES.md explains the rules.
///
/// ```
///                    retained record, 30 s of listening
///   heard ──subscribe──▶ following ──the record ended──▶ claiming ──came back, valid──▶ owning ──confirmed──▶ acting
///                           ▲  ▲                            │                           │   ▲                   │
///                           │  └──────came back, void───────┘                           │   └──not confirmed────┤
///                           └──────────another record was valid, or released────────────┴───────────────────────┘
/// ```
///
/// It is a value without I/O: a gateway gives it what happens with the time of its monotonic clock, and does what comes
/// out. The same inputs give the same outputs. It holds at most ``LeaseTerms/capacity`` peripherals.
public struct LeaseMachine: Equatable, Sendable {
    struct Watched: Equatable, Sendable {
        var records = 0
        var gone: SessionID?
    }

    struct Pulse: Equatable, Sendable {
        var number: UInt64
        var sentAt: Milliseconds
    }

    /// Whose machine it is.
    public let gateway: GatewayID
    /// The times and bounds.
    public let terms: LeaseTerms
    let rules: LeaseRules
    var random: LeaseRandom
    var lastTime: Milliseconds = .min

    // The connection.
    var session: SessionID?
    var sequence: UInt32 = 0
    var pulse: Pulse?
    var pulses: UInt64 = 0
    var pulseAt: Milliseconds = 0
    var confirmedUntil: Milliseconds?
    var linkAlarm: Milliseconds?
    var hasStopped = false

    // The disk.
    /// Claims are above it.
    var floor: UInt64
    /// Claims are at most that.
    var ceiling: UInt64
    var highestNumber: UInt64
    var isStoring = false
    var storeAt: Milliseconds = .min

    // The peripherals.
    var slots: [HeardPeripheral?] = []
    var freeSlots: [Int] = []
    var index: [PeripheralID: Int] = [:]
    var watched: [GatewayID: Watched] = [:]
    /// How many reports named a peripheral beyond the capacity.
    public private(set) var ignored = 0

    /// Makes the machine of a gateway that has just started.
    ///
    /// - Parameters:
    ///   - gateway: its address, which no other gateway has.
    ///   - stored: the last number that was stored; 0 if there is none.
    ///   - seed: what its random delays are drawn from; different on each gateway.
    ///   - terms: the times and bounds, the same on all gateways.
    ///   - rules: all of them, except in a test.
    public init(
        gateway: GatewayID,
        stored: UInt64,
        seed: UInt64,
        terms: LeaseTerms = LeaseTerms(),
        rules: LeaseRules = LeaseRules()
    ) {
        self.gateway = gateway
        self.terms = terms
        self.rules = rules
        random = LeaseRandom(seed: seed)
        floor = rules.remembersEpochs ? min(stored, Epoch.limit) : 0
        ceiling = stored
        highestNumber = floor
    }

    /// Takes what has happened.
    ///
    /// - Parameters:
    ///   - input: what has happened.
    ///   - now: the time of the gateway's monotonic clock. It goes on while the machine sleeps (`CLOCK_BOOTTIME`).
    /// - Returns: what to do now.
    public mutating func handle(_ input: LeaseInput, at now: Milliseconds) -> LeaseEffects {
        var effects = LeaseEffects()
        let now = max(now, lastTime)
        lastTime = now
        stopIfUnconfirmed(now, &effects)
        switch input {
        case .heard(let peripheral, let strength): hear(peripheral, strength, now, &effects)
        case .unreachable(let peripheral): giveUp(peripheral, now, &effects)
        case .reached(let peripheral):
            if let slot = index[peripheral] { slots[slot]?.deferringUntil = .min }
        case .connected(let session): connect(session, now, &effects)
        case .disconnected: disconnect(now, &effects)
        case .subscribed(let peripheral): beginListening(peripheral, now, &effects)
        case .message(let peripheral, let message, let isRetained):
            if let slot = index[peripheral] { take(message, isRetained, slot, now, &effects) }
        case .gone(let gateway, let session): noteGone(gateway, session, now, &effects)
        case .refused(let peripheral, let mark): noteRefused(peripheral, mark, now, &effects)
        case .pulsed(let number): confirm(number, now, &effects)
        case .stored(let number): noteStored(number, now, &effects)
        case .storeFailed:
            isStoring = false
            storeAt = now + 30_000
        case .timer(.link): linkAlarm = nil
        case .timer(.peripheral(let peripheral)):
            if let slot = index[peripheral] {
                slots[slot]?.alarm = nil
                update(slot, now, &effects)
            }
        case .stop: stop(now, &effects)
        }
        tendLink(now, &effects)
        return effects
    }

    /// The epoch by which the gateway may act on a peripheral at this time; `nil`: it must not.
    ///
    /// Ask before each action: a gateway that was suspended may have had no chance to end its tenure.
    public func epoch(of peripheral: PeripheralID, at now: Milliseconds) -> Epoch? {
        guard let slot = index[peripheral], let tenure = slots[slot]?.tenure, tenure.isActing else { return nil }
        return now < actingEnd(slot) ? tenure.epoch : nil
    }

    /// The highest epoch by which, to the gateway's knowledge, the peripheral may have been acted on.
    public func knownEpoch(of peripheral: PeripheralID) -> Epoch? { index[peripheral].flatMap { slots[$0]?.acted } }

    /// How many peripherals it knows.
    public var peripherals: Int { index.count }

    /// How many gateways' wills it is subscribed to.
    public var watchedGateways: Int { watched.count }

    mutating func ignore() { ignored += 1 }
}
