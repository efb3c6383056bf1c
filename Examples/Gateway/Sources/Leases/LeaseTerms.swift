/// A time or a duration on a gateway's own monotonic clock, in milliseconds.
public typealias Milliseconds = Int64

/// The times and bounds of the leases. All gateways of a broker must use the same.
///
/// Durations are true ones: a machine shortens those after which it stops, and lengthens those for which it waits, by
/// ``clockError``.
public struct LeaseTerms: Hashable, Sendable {
    /// How far the rate of a clock may be off, in millionths: 1000 by default. It must be below 100,000.
    public var clockError: Int64 = 1000
    /// How long an owner acts after it has sent the last pulse that came back: 10 s.
    public var confirmation: Milliseconds = 10_000
    /// How often a gateway sends a pulse: 3 s. It must be well below ``confirmation``.
    public var pulse: Milliseconds = 3000
    /// How long it takes at most to stop acting, such as to end a link: an owner that isn't confirmed stops by as much
    /// earlier: 0. It must be well below ``confirmation`` less ``pulse``.
    public var parting: Milliseconds = 0
    /// How long a record counts, if neither a release nor a will ends it: 120 s.
    public var lease: Milliseconds = 120_000
    /// How often an owner publishes its record anew: 40 s.
    public var renewal: Milliseconds = 40_000
    /// Whether a will ends a record. Set it to false for a broker that doesn't delay wills.
    public var trustsWills = true
    /// After how long without a report of its reception an owner releases a peripheral: 180 s.
    public var silence: Milliseconds = 180_000
    /// After how long without a report of its reception a gateway forgets a peripheral: 600 s.
    public var forgetting: Milliseconds = 600_000
    /// By how much better than the owner a gateway must receive a peripheral to ask for it, in dB: 8.
    public var hysteresis = 8
    /// How long it must receive it better: 60 s.
    public var dwell: Milliseconds = 60_000
    /// How long an owner keeps a peripheral at least, whoever asks, and how often a gateway asks: 120 s.
    public var tenure: Milliseconds = 120_000
    /// How long others wait when a peripheral is released to one gateway: 5 s.
    public var courtesy: Milliseconds = 5000
    /// How long an owner that hears a peripheral can't use it before it lets others try: 60 s.
    public var patience: Milliseconds = 60_000
    /// How long it leaves the peripheral to others then: it claims ``deference`` later than they, and doesn't ask for
    /// it: 900 s.
    public var setback: Milliseconds = 900_000
    /// How many peripherals a gateway knows at most; it ignores others: 4096.
    public var capacity = 4096
    /// How many epochs a gateway reserves with one write to its disk: 1024.
    public var reserve: UInt64 = 1024

    /// The default terms.
    public init() {}

    /// How long a gateway listens to a peripheral's topic before it claims or acts: until every owner that the retained
    /// record may hide has spoken or stopped.
    public var listening: Milliseconds { 3 * confirmation }

    /// By how much later than others a gateway claims that couldn't connect to the peripheral: more than reception
    /// makes.
    public var deference: Milliseconds { courtesy + 5000 }

    /// The Will Delay Interval, and the Session Expiry Interval, of each CONNECT, in seconds.
    public var willDelay: Int { Int((waited(confirmation) + 999) / 1000) }

    /// What remains of a duration for somebody who must stop before it ends.
    func shortened(_ duration: Milliseconds) -> Milliseconds { duration - allowance(duration) }

    /// How long to wait so that the duration has surely ended.
    func waited(_ duration: Milliseconds) -> Milliseconds { duration + allowance(duration) }

    private func allowance(_ duration: Milliseconds) -> Milliseconds { (duration * clockError + 999_999) / 1_000_000 }
}

/// The rules that keep two gateways from acting on one peripheral, each of which a test can leave out.
public struct LeaseRules: Hashable, Sendable {
    /// A gateway acts only when its claim has come back from the broker.
    public var waitsForEcho = true
    /// A record that doesn't name its predecessor is void.
    public var comparesPredecessors = true
    /// A gateway listens to a topic before it claims or acts.
    public var listens = true
    /// An owner stops when its connection hasn't been confirmed for too long.
    public var stopsUnconfirmed = true
    /// After a restart a gateway claims only above the epochs it reserved before.
    public var remembersEpochs = true
    /// A gateway whose disk doesn't take a reservation doesn't claim above the last one.
    public var storesBeforeClaiming = true

    /// All rules.
    public init() {}
}
