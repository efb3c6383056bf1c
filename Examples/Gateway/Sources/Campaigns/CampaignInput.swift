public import Leases

/// What a gateway tells the machine of a campaign.
public enum CampaignInput: Hashable, Sendable {
    /// The plan, or another version of it: an operator has stopped it, for instance.
    case plan(CampaignPlan)
    /// What the broker retains about the campaign has come: it may begin. What the broker doesn't have is published
    /// again.
    case synchronized
    /// The connection to the broker has ended: nothing begins until it is synchronized again.
    case disconnected
    /// The record of a device has come, from whatever gateway.
    case record(PeripheralID, CampaignRecord)
    /// The record of a device was removed from the broker.
    case erased(PeripheralID)
    /// The gateway holds a device, by this epoch, and can act on it.
    case held(PeripheralID, Epoch)
    /// It doesn't hold it any more; the order, if there is one, is cancelled.
    case lost(PeripheralID)
    /// The image can't be read: the gateway gives up the order for this device, and no longer holds the devices that
    /// have no order.
    case imageMissing(PeripheralID)
    /// So much of the image is on the device, in percent.
    case progress(PeripheralID, Int)
    /// An order has ended.
    case ended(PeripheralID, CampaignOutcome)
}

/// What a gateway does to a device.
public enum CampaignOrder: Hashable, Sendable {
    /// Upload what is missing of the image, try it, and confirm it.
    case update
    /// Let the device run its previous image, unless it has confirmed the new one.
    case rollBack
}

/// How an order has ended.
public enum CampaignOutcome: Hashable, Sendable {
    /// The device runs the image, and has confirmed it.
    case updated
    /// It runs its previous image, and nothing is on trial.
    case rolledBack
    /// It is in a state between, or unknown.
    case failed(String)
}

/// What a gateway does now, in this order.
public struct CampaignEffects: Hashable, Sendable {
    /// A record to publish, retained.
    public struct Publication: Hashable, Sendable {
        /// The device.
        public var device: PeripheralID
        /// Its record.
        public var record: CampaignRecord
    }

    /// An order to carry out. One that waits before that is asked for anew: see ``CampaignMachine/due(_:)``.
    public struct Begin: Hashable, Sendable {
        /// The device.
        public var device: PeripheralID
        /// What to do.
        public var order: CampaignOrder
        /// How many attempts have failed: the driver pauses for longer before each further one.
        public var failures: Int
    }

    /// Cancel the orders for these devices; the driver reports nothing more about them.
    public var cancel: [PeripheralID] = []
    /// Publish these.
    public var publish: [Publication] = []
    /// Carry these out.
    public var begin: [Begin] = []

    /// Nothing to do.
    public init() {}
}

/// How many devices are how far.
public struct CampaignCounts: Hashable, Sendable {
    /// All.
    public var devices = 0
    /// Those that have begun.
    public var updating = 0
    /// Those that run the image.
    public var updated = 0
    /// Those that run their previous one.
    public var rolledBack = 0
    /// The wave that is open: 0 is that of the canaries.
    public var wave = 0
    /// Whether no further device begins: too many have failed, or an operator has stopped it.
    public var isStopped = false
    /// Whether all devices are settled, or all that began if it is stopped.
    public var isOver = false
}
