public import Leases

/// Decides what a gateway does to the devices of a campaign that it holds. CAMPAIGNS.md explains the rules.
///
/// ```
///   waiting ──its wave is open──▶ updating ──confirmed──▶ updated
///                                   │    ▲
///                          too many │    └──failed, or another owner goes on
///                 failures, stopped ▼
///                               rolling back ──previous image runs──▶ rolled back
/// ```
///
/// There is no leader. A device has one owner, by its lease; only the owner writes the device's record, and the epoch
/// says which record counts. Which wave is open follows from the records alone. Records only advance, so a gateway
/// that knows old ones begins too late, never too early; when too many devices fail, at most those of the open wave
/// have begun.
///
/// It is a value without I/O and clock. The same inputs give the same outputs.
public struct CampaignMachine: Hashable, Sendable {
    struct Held: Hashable, Sendable {
        var epoch: Epoch
        var revision: UInt32 = 0
        var order: CampaignOrder?
        /// Whether the broker has a record of this tenure; until then, the order waits.
        var isAnnounced = false
        /// How many orders have failed here: a device that fails gives way to others.
        var turns = 0
    }

    /// Which rules a test leaves out.
    public struct Rules: Hashable, Sendable {
        /// A wave begins only when those before it are settled.
        public var waitsForWaves = true
        /// A record of an earlier owner doesn't count.
        public var comparesEpochs = true
        /// A device that has failed too often is rolled back before it counts as settled.
        public var rollsBack = true

        /// All rules.
        public init() {}
    }

    /// The plan.
    public private(set) var plan: CampaignPlan
    /// How many orders a gateway carries out at once.
    public let limit: Int
    let rules: Rules
    var isSynchronized = false
    var places: [PeripheralID: Int] = [:]
    var records: [PeripheralID: CampaignRecord] = [:]
    var held: [PeripheralID: Held] = [:]
    /// Records that the gateway has published and that haven't come back: the broker may not have them.
    var unconfirmed: [PeripheralID: CampaignRecord] = [:]
    var running = 0
    /// How many devices of each wave are settled.
    var settled: [Int: Int] = [:]
    var failed = 0
    var failedCanaries = 0
    var updated = 0

    /// Makes the machine of a gateway that knows nothing but the plan.
    ///
    /// - Parameters:
    ///   - plan: the plan; it must be usable.
    ///   - limit: how many orders the gateway carries out at once.
    ///   - rules: all of them, except in a test.
    public init(_ plan: CampaignPlan, limit: Int = 2, rules: Rules = Rules()) {
        self.plan = plan
        self.limit = max(1, limit)
        self.rules = rules
        places = Dictionary(zip(plan.devices, plan.devices.indices), uniquingKeysWith: min)
    }

    /// Takes what has happened.
    ///
    /// - Returns: what to do now.
    public mutating func handle(_ input: CampaignInput) -> CampaignEffects {
        var effects = CampaignEffects()
        switch input {
        case .plan(let plan): change(plan, &effects)
        case .synchronized:
            isSynchronized = true
            let missing = unconfirmed.sorted { (places[$0.key] ?? 0) < (places[$1.key] ?? 0) }
            effects.publish = missing.map { .init(device: $0.key, record: $0.value) }
        case .disconnected: isSynchronized = false
        case .record(let device, let record):
            let before = (updated, failed)
            take(record, device, &effects)
            // The progress of others' devices changes nothing.
            guard before != (updated, failed) || held[device] != nil else { return effects }
        case .erased(let device):
            repeatRecord(of: device, &effects)
            return effects
        case .held(let device, let epoch): hold(device, epoch, &effects)
        case .lost(let device): letGo(device)
        case .imageMissing(let device):
            letGo(device)
            held = held.filter { $0.value.order != nil }
            return effects
        case .progress(let device, let percent):
            note(percent, device, &effects)
            return effects
        case .ended(let device, let outcome): settle(device, outcome, &effects)
        }
        decide(&effects)
        return effects
    }

    /// What to do to a device whose order has waited, for a pause or for another order; ask before it is carried out.
    ///
    /// - Returns: the order by what is known now: to roll back, if the campaign has stopped meanwhile. `nil`: do
    ///   nothing, since the device isn't held any more, or the order for it is still to come.
    public mutating func due(_ device: PeripheralID) -> CampaignOrder? {
        guard let mine = held[device], mine.order != nil, mine.isAnnounced else { return nil }
        let order = order(for: device)
        held[device]?.order = order
        return order
    }

    /// The record of a device that counts; `nil`: it waits.
    public func record(of device: PeripheralID) -> CampaignRecord? { records[device] }

    // MARK: - What is so

    /// Whether no further device begins.
    public var isStopped: Bool { plan.isStopped || failedCanaries > 0 || failed > plan.failures }

    /// The last wave whose devices may begin.
    public var openWave: Int {
        guard rules.waitsForWaves else { return plan.wave(at: plan.devices.count - 1) }
        var (wave, done) = (0, 0)
        while wave < plan.wave(at: plan.devices.count - 1) {
            done += settled[wave] ?? 0
            let before = plan.devices(before: wave + 1)
            // No canary may be missing.
            guard done * 100 >= before * (wave == 0 ? 100 : plan.settled) else { break }
            wave += 1
        }
        return wave
    }

    /// How far the campaign is.
    public var counts: CampaignCounts {
        var counts = CampaignCounts()
        counts.devices = plan.devices.count
        counts.updated = updated
        counts.rolledBack = failed
        counts.updating = records.count - updated - failed
        counts.wave = openWave
        counts.isStopped = isStopped
        counts.isOver = counts.updating == 0 && (isStopped || records.count == plan.devices.count)
        return counts
    }

    private mutating func change(_ new: CampaignPlan, _ effects: inout CampaignEffects) {
        // The devices and the image of a campaign don't change; another one has another name.
        guard new.isSameCampaign(as: plan) else { return }
        plan = new
    }
}
