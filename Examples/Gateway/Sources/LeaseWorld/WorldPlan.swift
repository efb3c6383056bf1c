public import Leases

/// What a world is made from: the same plan gives the same world, event by event.
public struct WorldPlan: Sendable {
    /// What all chance is drawn from.
    public var seed: UInt64
    /// How many gateways there are.
    public var gateways: Int
    /// How many sensors there are.
    public var sensors: Int
    /// How long the world lasts, in milliseconds.
    public var duration: Int64
    /// How often a gateway reports each sensor that it hears, in milliseconds, give or take a fifth: 30 s, and 60 s in
    /// a large world.
    public var cadence: Int64 = 30_000
    /// How many faults befall gateways.
    public var gatewayFaults: Int
    /// How many faults befall the broker.
    public var brokerFaults: Int
    /// The times and bounds of the gateways.
    public var terms = LeaseTerms()
    /// The rules of the gateways; a test leaves one out.
    public var rules = LeaseRules()

    /// Draws a plan from a seed; what is given isn't drawn.
    public init(seed: UInt64, gateways: Int? = nil, sensors: Int? = nil, hours: Double? = nil) {
        var random = LeaseRandom(seed: seed ^ 0x5EED)
        self.seed = seed
        if (sensors ?? 0) > 10_000 { cadence = 60_000 }
        self.gateways = max(gateways ?? Int(2 + random.below(7)), 1)
        self.sensors = max(sensors ?? Int(1 + random.below(12)), 1)
        duration = max(Int64((hours ?? 0.75) * 3_600_000), 1_500_000)
        let perHour = Double(self.gateways) * Double(duration) / 3_600_000
        gatewayFaults = Int(3 + random.below(12)) + Int(perHour / 2)
        brokerFaults = Int(random.below(4))
    }

    /// When faults end: then everything must be owned within ``bound``, while the rest of the world lasts.
    public var calm: Int64 { duration - bound - 300_000 }

    /// Within which time after the last fault every sensor that a gateway hears has an owner: the slowest way is that
    /// an owner has to notice that it hears the sensor no longer, or that others have to wait for its lease.
    /// It may change hands even then; for at most ``handover`` nobody owns it.
    public var bound: Int64 { terms.lease + terms.silence + 2 * terms.listening + 2 * cadence }

    /// How long a change of the owner may take when nothing goes wrong: 15 s, if the one that asked for the sensor
    /// leaves it to the others.
    public var handover: Int64 { terms.courtesy + 10_000 }
}

/// What was wrong in a world.
public struct WorldFinding: Hashable, Sendable {
    /// Which invariant doesn't hold.
    public enum Kind: String, Sendable, CaseIterable {
        /// Two gateways act on one sensor.
        case twoOwners = "two owners"
        /// A tenure has an epoch that another tenure of the same gateway had.
        case reusedEpoch = "an epoch is used again"
        /// A tenure has a lower epoch than an earlier one, although a gateway in touch knew better.
        case lowerEpoch = "an epoch went backwards"
        /// A gateway claims above what it has reserved on its disk, or below what it had reserved before it started.
        case unreserved = "an epoch isn't reserved"
        /// A sensor that gateways hear has no owner in time.
        case noOwner = "no owner"
        /// A gateway knows more than it may.
        case memory = "memory isn't bounded"
    }

    /// Which invariant.
    public var kind: Kind
    /// When, in milliseconds.
    public var time: Int64
    /// What happened, in words.
    public var text: String
    /// On which sensor.
    public var sensor: Int
}

/// What was measured in a world, or in many.
public struct WorldMeasures: Sendable {
    /// How many events there were.
    public var events = 0
    /// How many messages the broker took, without pulses.
    public var published = 0
    /// How many messages the broker handed out, without pulses.
    public var delivered = 0
    /// Sensor-milliseconds.
    public var sensorTime: Int64 = 0
    /// How often the owner changed when all faults were long over, and in how many sensor-milliseconds.
    public var calmChanges = 0
    /// The time of ``calmChanges``.
    public var calmTime: Int64 = 0
    /// For each change of the owner: how long nobody acted, in milliseconds.
    public var takeOvers: [Int64] = []
    /// The same for a sensor's owner that had to pause, and went on.
    public var pauses: [Int64] = []
    /// How many tenures were the first of their sensors.
    public var firsts = 0
    /// How often an epoch went backwards because everything that knew better was gone.
    public var forgotten = 0

    /// Nothing measured yet.
    public init() {}

    /// Adds what was measured in another world.
    public mutating func add(_ other: WorldMeasures) {
        events += other.events
        published += other.published
        delivered += other.delivered
        sensorTime += other.sensorTime
        calmChanges += other.calmChanges
        calmTime += other.calmTime
        takeOvers += other.takeOvers
        pauses += other.pauses
        firsts += other.firsts
        forgotten += other.forgotten
    }
}
