import Campaigns
import Leases

/// A campaign in virtual time: devices that fail, links that are lost, gateways that crash, and a broker that retains.
///
/// The leases are taken as given: a device has one owner, another one 11 to 16 s after a crash, by a higher epoch; a
/// message of the old owner may come to the broker after the first one of the new.
public final class CampaignWorld {
    /// A crash, a step on a link, or a message on its way.
    enum Event {
        case crash(Int)
        case stall(Int, generation: Int)
        case cut(Int)
        case lapse(Int, generation: Int)
        case reconnect(Int, generation: Int)
        case reload(Int)
        case holdAgain(Int, Int, generation: Int, Epoch)
        case start(Int)
        case synchronize(Int, connection: Int)
        case own(Int, Int)
        case step(Work)
        case retain(PeripheralID, CampaignRecord)
        case deliver(Int, connection: Int, PeripheralID, CampaignRecord)
        case deviceRestarts(Int)
    }

    /// An order that a gateway carries out.
    struct Work {
        var gateway: Int
        var generation: Int
        var device: Int
        /// `nil`: the first step, before which there may be a pause, is still to come.
        var order: CampaignOrder?
        var number: Int
        /// How many links in a row were lost without progress.
        var losses = 0
    }

    struct Gateway {
        var machine: CampaignMachine?
        var generation = 0
        var lastDelivery: Int64 = 0
        var lastSending: Int64 = 0
        /// Whether the broker can't be reached.
        var isCut = false
        /// Grows with each connection.
        var connection = 0
        /// The devices that it has known as settled since it started.
        var settled: [PeripheralID: CampaignRecord] = [:]
    }

    let plan: CampaignWorldPlan
    let campaign: CampaignPlan
    var random: LeaseRandom
    var now: Int64 = 0
    var queue = EventQueue<Event>()
    var gateways: [Gateway]
    var devices: [SimulatedDevice] = []
    var owners: [Int?]
    var epochs: [UInt64]
    var retained: [PeripheralID: CampaignRecord] = [:]
    /// The order that is carried out on each device.
    var working: [Int: Int] = [:]
    /// The devices that are settled, as some gateway has said.
    var settled: Set<Int> = []
    var begun: Set<Int> = []
    var result = CampaignWorldResult()

    /// Makes a world, which begins when it runs.
    public init(_ plan: CampaignWorldPlan) {
        self.plan = plan
        random = LeaseRandom(seed: plan.seed)
        campaign = CampaignPlan(
            image: String(repeating: "a", count: 64),
            devices: (0..<plan.devices).map { PeripheralID(rawValue: UInt64($0) + 1) },
            canaries: max(1, plan.devices / 100),
            wave: max(1, plan.devices / 20),
            settled: 95,
            failures: plan.failures
        )
        gateways = Array(repeating: Gateway(), count: plan.gateways)
        owners = Array(repeating: nil, count: plan.devices)
        epochs = Array(repeating: 0, count: plan.devices)
        let canaries = campaign.canaries
        for number in 0..<plan.devices {
            // A canary that fails stops the campaign; that is another test.
            let isBad = random.below(1000) < plan.bad && (number >= canaries || plan.bad >= 500)
            devices.append(SimulatedDevice(isBad: isBad))
        }
    }

    /// Runs until all is over, or something is wrong; it must be over after six hours.
    public func run() -> CampaignWorldResult {
        for gateway in gateways.indices {
            queue.add(.start(gateway), at: random.below(2000))
            queue.add(.crash(gateway), at: random.below(2 * plan.crashes))
            queue.add(.cut(gateway), at: random.below(2 * plan.crashes))
            if plan.reloads > 0 { queue.add(.reload(gateway), at: random.below(2 * plan.reloads)) }
        }
        for device in devices.indices {
            queue.add(.own(device, Int(random.below(Int64(plan.gateways)))), at: 3000 + random.below(60_000))
            if random.below(20) == 0 { queue.add(.deviceRestarts(device), at: random.below(7_200_000)) }
        }
        while let (time, event) = queue.next(), result.findings.isEmpty {
            now = time
            handle(event)
            if isOver { break }
            if now > 21_600_000 { find("it is not over after six hours") }
        }
        judge()
        return result
    }

    private func handle(_ event: Event) {
        switch event {
        case .crash(let gateway):
            queue.add(.crash(gateway), at: now + plan.crashes / 2 + random.below(plan.crashes))
            crash(gateway)
        case .stall(let gateway, let generation):
            if gateways[gateway].generation == generation { crash(gateway) }
        case .cut(let gateway):
            queue.add(.cut(gateway), at: now + plan.crashes / 2 + random.below(plan.crashes))
            cut(gateway)
        case .lapse(let gateway, let generation):
            if gateways[gateway].generation == generation { lapse(gateway) }
        case .reconnect(let gateway, let generation):
            if gateways[gateway].generation == generation { reconnect(gateway) }
        case .reload(let gateway):
            queue.add(.reload(gateway), at: now + plan.reloads / 2 + random.below(plan.reloads))
            reload(gateway)
        case .holdAgain(let device, let gateway, let generation, let epoch):
            if gateways[gateway].generation == generation { holdAgain(device, gateway, epoch) }
        case .start(let gateway): start(gateway)
        case .synchronize(let gateway, let connection):
            guard gateways[gateway].connection == connection, gateways[gateway].machine != nil else { return }
            give(.synchronized, to: gateway)
        case .own(let device, let gateway): own(device, gateway)
        case .step(let work): step(work)
        case .retain(let device, let record): retain(device, record)
        case .deliver(let gateway, let connection, let device, let record):
            guard gateways[gateway].connection == connection, gateways[gateway].machine != nil else { return }
            give(.record(device, record), to: gateway)
        case .deviceRestarts(let device): devices[device].restart()
        }
    }

    func find(_ text: String) { result.findings.append("at \(Double(now) / 1000) s: \(text)") }
}

/// Events in the order of their times; of one time, in that in which they were added.
struct EventQueue<Event> {
    private var heap: [(time: Int64, number: Int, event: Event)] = []
    private var number = 0

    mutating func add(_ event: Event, at time: Int64) {
        heap.append((time, number, event))
        number += 1
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> (Int64, Event)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return (first.time, first.event) }
        heap[0] = last
        var parent = 0
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, isBefore(child + 1, child) { child += 1 }
            guard isBefore(child, parent) else { break }
            heap.swapAt(child, parent)
            parent = child
        }
        return (first.time, first.event)
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
    }
}
