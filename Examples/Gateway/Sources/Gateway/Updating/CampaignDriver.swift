import BLEDevices
import BLEStreams
import Campaigns
import Foundation
import Leases
import MQTT
import Synchronization

/// Drives the machines of the campaigns: follows plans and records on the broker, and updates the devices that this
/// gateway holds. CAMPAIGNS.md explains the rules.
final class CampaignDriver: Sendable {
    /// The most campaigns at once; others are ignored.
    static let limit = 16

    struct Campaign {
        var machine: CampaignMachine
        /// Whether this gateway has the image; if not, it only watches until the folder has it or the broker sends it.
        var hasImage: Bool
        /// Whether the broker has sent the plan on this connection: it may have been removed before.
        var isPlanned = true
        /// Whether the broker has confirmed the subscription to its records on this connection.
        var isFollowed = false
        var report = ""
        /// The devices of which the broker retains a record, or will.
        var recorded: Set<PeripheralID> = []
        /// The pauses before further attempts; they end with the campaign.
        var pauses: [PeripheralID: AsyncStream<Void>.Continuation] = [:]
    }

    struct State {
        var campaigns: [String: Campaign] = [:]
        var changes: [MQTTSubscriptionChange] = []
        var publications: ArraySlice<MQTTMessage> = []
        var tokens: UInt64 = 0
        var isConnected = false
        var refusals = Refusals()
        /// Whether the broker has refused a message since the last look: what hasn't come back is published again.
        var hasRefusal = false
        /// The devices that the gateway holds, and where their orders go.
        var devices: [PeripheralID: AsyncStream<Order>.Continuation] = [:]
        /// The campaigns for which there was no place.
        var ignored: Set<String> = []
        /// The images that the broker has sent and the folder hasn't taken.
        var unkept: [String: Unkept] = [:]
        /// Whether the summaries were taken back, and no other ones are wanted.
        var isSilent = false
    }

    /// An image that couldn't be written to the folder, which may have room for it later.
    struct Unkept {
        /// How often.
        var failures = 0
        /// After how many looks for images it is asked for again.
        var looks = 0
    }

    /// That something is to be done to a device, for which campaign; what, is asked when its turn has come.
    struct Order: Sendable {
        var campaign: String
        var image: String
        /// How many attempts have failed.
        var failures: Int
    }

    let settings: Configuration.Campaigns
    let leases: LeaseDriver
    let publisher: Publisher
    let clock: any Clock<Duration>
    let state = Mutex(State())
    private let client = Mutex<MQTTClient?>(nil)
    let folder: ImageFolder
    /// An image of the broker's can't be written to the folder.
    let keeping: LastingError

    /// - Parameter clock: on which it pauses.
    init(
        _ settings: Configuration.Campaigns,
        _ leases: LeaseDriver,
        _ publisher: Publisher,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.settings = settings
        self.leases = leases
        self.publisher = publisher
        self.clock = clock
        folder = ImageFolder(folder: settings.images)
        keeping = LastingError { publisher.report("campaigns: \($0)") }
    }

    /// The client in use.
    func use(_ client: MQTTClient) { self.client.withLock { $0 = client } }

    /// Tells the client that there is something to send, or to subscribe to.
    func wake() { client.withLock { $0 }?.wake() }

    var prefix: String { leases.settings.prefix }

    // MARK: - The machines

    /// Gives something to the machine of one campaign, or of all.
    ///
    /// - Parameter image: what the campaign must have: if another one has its name by now, it isn't concerned.
    func give(_ input: CampaignInput, to name: String? = nil, of image: String? = nil) {
        let summaries = state.withLock { state in
            let names = name.map { [$0] } ?? Array(state.campaigns.keys)
            return names.compactMap { name -> (String, [UInt8])? in
                guard image == nil || state.campaigns[name]?.machine.plan.image == image else { return nil }
                return handle(input, name, &state)
            }
        }
        for (name, counts) in summaries { publisher.retain("campaign/\(name)", counts) }
        wake()
    }

    /// The part inside the lock.
    ///
    /// - Returns: the summary, if it has changed.
    private func handle(_ input: CampaignInput, _ name: String, _ state: inout State) -> (String, [UInt8])? {
        // It may have been let go since somebody looked: nobody would carry an order out.
        if case .held(let device, _) = input, state.devices[device] == nil { return nil }
        guard let effects = state.campaigns[name]?.machine.handle(input) else { return nil }
        if case .progress = input, effects.publish.isEmpty { return nil }
        for publication in effects.publish {
            guard let payload = try? JSONEncoder().encode(publication.record) else { continue }
            state.campaigns[name]?.recorded.insert(publication.device)
            state.publications.append(.json(record(of: publication.device, name), Array(payload), isRetained: true))
        }
        for begin in effects.begin {
            let image = state.campaigns[name]?.machine.plan.image ?? ""
            state.devices[begin.device]?.yield(Order(campaign: name, image: image, failures: begin.failures))
        }
        guard !state.isSilent, let counts = state.campaigns[name]?.machine.counts.json.text,
            state.campaigns[name]?.report != counts
        else { return nil }
        state.campaigns[name]?.report = counts
        return (name, Array(counts.utf8))
    }

    /// Takes back what this gateway says of the campaigns: from now on, it says that elsewhere, or not at all.
    func removeSummaries() {
        let names = state.withLock { state in
            state.isSilent = true
            return state.campaigns.keys.sorted()
        }
        for name in names { publisher.remove("campaign/\(name)") }
    }

    /// The topic of the record of a device.
    func record(of device: PeripheralID, _ name: String) -> String { "\(prefix)/campaigns/\(name)/devices/\(device)" }

    // MARK: - Devices

    /// Carries out the orders for a device that the gateway holds, until the task is cancelled.
    func work(_ lease: Lease, _ session: Session) async {
        let device = lease.tenure.id
        let (orders, inbox) = AsyncStream<Order>.makeStream(bufferingPolicy: .bufferingOldest(Self.limit))
        state.withLock { $0.devices[device] = inbox }
        refresh(device)
        for await order in orders where lease.isHeld {
            await pause(before: order, device)
            guard !Task.isCancelled, lease.isHeld else { break }
            guard let what = due(order, device) else { continue }
            let outcome: CampaignOutcome
            do {
                outcome = try await carryOut(what, for: order, device, session)
            } catch is CancellationError {
                break
            } catch let error as ImageFolder.ImageError {
                // That is not the device's failure: another gateway may have the image.
                give(.imageMissing(device), to: order.campaign, of: order.image)
                // After that: whoever finds the image again then holds the device for the campaign.
                miss(order.image, error)
                continue
            } catch {
                outcome = .failed("\((error as? BLEError).map { "\($0.code)" } ?? "\(error)")")
                publisher.report("campaign \(order.campaign), \(device): \(gatewayWords(for: error))")
            }
            guard !Task.isCancelled, lease.isHeld else { break }
            refresh(device)
            give(.ended(device, outcome), to: order.campaign, of: order.image)
        }
        state.withLock { $0.devices[device] = nil }
        give(.lost(device))
    }

    /// Tells the machines by which epoch the gateway holds a device now.
    private func refresh(_ device: PeripheralID) {
        guard let epoch = leases.epoch(of: device) else { return }
        for name in state.withLock({ $0.campaigns.filter(\.value.hasImage).map(\.key) }) {
            give(.held(device, epoch), to: name)
        }
    }

    /// Half a minute after the first failure, and twice as long after each further one; it ends early if the campaign
    /// is removed, since others may wait for the device.
    private func pause(before order: Order, _ device: PeripheralID) async {
        guard order.failures > 0 else { return }
        let (removal, end) = AsyncStream<Void>.makeStream()
        let isThere = state.withLock { state in
            guard state.campaigns[order.campaign]?.machine.plan.image == order.image else { return false }
            state.campaigns[order.campaign]?.pauses[device] = end
            return true
        }
        guard isThere else { return }
        let pause = settings.pause * (1 << min(order.failures - 1, 6))
        await run(until: removal) { [clock] in _ = try? await clock.sleep(for: pause) }
        state.withLock { $0.campaigns[order.campaign]?.pauses[device] = nil }
    }

    /// What is to be done by now for an order, which has waited; `nil`: nothing, since its campaign was removed, for
    /// instance.
    private func due(_ order: Order, _ device: PeripheralID) -> CampaignOrder? {
        state.withLock { state -> CampaignOrder? in
            guard state.campaigns[order.campaign]?.machine.plan.image == order.image else { return nil }
            return state.campaigns[order.campaign]?.machine.due(device)
        }
    }

    private func carryOut(
        _ what: CampaignOrder,
        for order: Order,
        _ device: PeripheralID,
        _ session: Session
    ) async throws -> CampaignOutcome {
        let image = try folder.bootImage(order.image)
        switch what {
        case .rollBack:
            switch try await session.queue.run(FirmwareRevertFlow(image)) {
            case .reverted: return .rolledBack
            case .confirmed: return .updated
            }
        case .update:
            let flow = FirmwareUpdateFlow(image, over: .mcumgr())
            try await session.queue.run(flow, replacing: .activeFlow) { [weak self] progress in
                guard progress.phase == "upload", let fraction = progress.fraction else { return }
                self?.give(.progress(device, Int(fraction * 100)), to: order.campaign, of: order.image)
            }
            return .updated
        }
    }
}

extension CampaignCounts {
    /// The summary that each gateway publishes.
    fileprivate var json: JSONText {
        .object(
            ("devices", .number(devices)),
            ("waiting", .number(devices - updating - updated - rolledBack)),
            ("updating", .number(updating)),
            ("updated", .number(updated)),
            ("rolledBack", .number(rolledBack)),
            ("wave", .number(wave)),
            ("stopped", .bool(isStopped)),
            ("over", .bool(isOver))
        )
    }
}
