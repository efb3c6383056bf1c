public import Campaigns

/// What a world of a campaign is like.
public struct CampaignWorldPlan: Sendable {
    /// What everything is drawn from.
    public var seed: UInt64
    /// How many devices there are.
    public var devices: Int
    /// How many gateways there are.
    public var gateways: Int
    /// How often a step on a link loses it, in thousandths: 10 is 1 %.
    public var loss = 10
    /// How many devices of a thousand don't confirm the image.
    public var bad = 5
    /// How often a gateway crashes, and how often it loses the broker, on average, in milliseconds.
    public var crashes: Int64 = 600_000
    /// With one message in how many a connection stalls, and its gateway crashes.
    public var stalls: Int64 = 400
    /// How often a gateway lets its devices go and holds them again by the same epochs, on average, in milliseconds;
    /// 0: never.
    public var reloads: Int64 = 0
    /// How many devices may fail.
    public var failures: Int
    /// How many steps an upload has.
    public var parts = 40
    /// Which rules of the machine hold.
    public var rules = CampaignMachine.Rules()

    /// Makes a world.
    public init(seed: UInt64, devices: Int = 1000, gateways: Int = 20) {
        self.seed = seed
        self.devices = devices
        self.gateways = gateways
        failures = devices / 20
    }
}

/// How a campaign has gone.
public struct CampaignWorldResult: Sendable {
    /// What was wrong; empty: nothing.
    public var findings: [String] = []
    /// Devices that run the image, and have confirmed it.
    public var updated = 0
    /// Devices that run the previous image, and began.
    public var rolledBack = 0
    /// Devices that never began.
    public var untouched = 0
    /// Devices that are in no such state.
    public var between = 0
    /// How often a gateway crashed.
    public var crashes = 0
    /// How often a gateway let its devices go, and held them again.
    public var reloads = 0
    /// How often a link was lost.
    public var losses = 0
    /// Uploads that a gateway began and another one finished.
    public var handedOver = 0
    /// Orders that were begun.
    public var orders = 0
    /// When all was over, in seconds of virtual time.
    public var seconds = 0
    /// Whether the campaign stopped because too many devices failed.
    public var isStopped = false
}
