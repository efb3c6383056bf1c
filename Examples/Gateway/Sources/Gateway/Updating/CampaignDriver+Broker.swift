import BLEStreams
import Campaigns
import Foundation
import Leases
import MQTT
import Synchronization

/// The broker's side: all is called on the client's queue, in the broker's order.
extension CampaignDriver: BrokerDriver {
    /// The client's settings.
    func settings(_ broker: MQTTSettings) -> MQTTSettings {
        var settings = broker
        settings.clientID += "-campaigns"
        // The plans first: a summary without a plan is a former one.
        settings.subscriptions = [plans, mark, "\(summaries)+"]
        settings.largestMessage = Self.largestImage
        settings.will = nil
        settings.farewellPublishesWill = false
        return settings
    }

    private var plans: String { "\(prefix)/campaigns/+/plan" }
    private var mark: String { "\(prefix)/gateways/\(leases.gateway)/campaigns" }
    private var summaries: String { "\(publisher.prefix)/campaign/" }

    func will() -> MQTTDelayedWill? { nil }

    func connected() {
        state.withLock { state in
            (state.changes, state.publications, state.isConnected) = ([], [], true)
            // All plans come now, and what has not come back is published again.
            (state.ignored, state.hasRefusal) = ([], false)
            state.refusals.begin()
            for name in state.campaigns.keys {
                state.campaigns[name]?.isPlanned = false
                state.campaigns[name]?.isFollowed = false
            }
            state.changes = state.campaigns.keys.map { .subscribe(records($0)) }
            state.changes += state.missingImages.map { .subscribe(topic(ofImage: $0)) }
        }
    }

    func interrupted() {
        state.withLock { ($0.changes, $0.publications, $0.isConnected) = ([], [], false) }
        give(.disconnected)
    }

    private func records(_ name: String) -> String { "\(prefix)/campaigns/\(name)/devices/+" }

    func subscribed(to topic: String) {
        let start = "\(prefix)/campaigns/"
        guard topic.hasSuffix("/devices/+"), topic.hasPrefix(start) else { return }
        // What is retained comes before the answer to this message.
        let name = String(topic.dropFirst(start.count).dropLast("/devices/+".count))
        state.withLock { state in
            state.campaigns[name]?.isFollowed = true
            state.publications.append(MQTTMessage(mark, Array(name.utf8)))
        }
    }

    /// Publishes again what the broker has refused: its access rules may have been corrected. When the answer comes, all
    /// records are published that have not come back.
    func repeatRefused() {
        let isWanted = state.withLock { state in
            guard state.hasRefusal, state.isConnected else { return false }
            state.hasRefusal = false
            for name in state.campaigns.filter(\.value.isFollowed).keys.sorted() {
                state.publications.append(MQTTMessage(mark, Array(name.utf8)))
            }
            return true
        }
        if isWanted { wake() }
    }

    func received(_ message: MQTTMessage) {
        if message.topic == mark { return synchronized(String(decoding: message.payload, as: UTF8.self)) }
        if message.topic.hasPrefix(summaries) { return take(summary: message) }
        if message.topic.hasPrefix(images) {
            return take(image: message.payload, String(message.topic.dropFirst(images.count)))
        }
        let start = "\(prefix)/campaigns/"
        guard message.topic.hasPrefix(start) else { return }
        let parts = message.topic.dropFirst(start.count).split(separator: "/", omittingEmptySubsequences: false)
        let name = String(parts[0])
        if parts.count == 2, parts[1] == "plan" { return take(plan: message.payload, name) }
        guard parts.count == 3, parts[1] == "devices", let device = PeripheralID(String(parts[2])) else { return }
        guard !message.payload.isEmpty else { return give(.erased(device), to: name) }
        state.withLock { _ = $0.campaigns[name]?.recorded.insert(device) }
        guard let record = try? JSONDecoder().decode(CampaignRecord.self, from: Data(message.payload)) else { return }
        give(.record(device, record), to: name)
    }

    /// All that the broker retains about a campaign has come, and before it all plans.
    private func synchronized(_ name: String) {
        guard state.withLock({ $0.campaigns[name]?.isPlanned == false }) else { return give(.synchronized, to: name) }
        publisher.report("campaign \(name): its plan was removed while there was no connection")
        end(name)
    }

    /// Removes what an earlier run of the gateway said of a campaign whose plan was removed before this one began:
    /// nobody else would.
    private func take(summary message: MQTTMessage) {
        // What this run says comes back, too.
        guard message.isRetained, !message.payload.isEmpty else { return }
        let name = String(message.topic.dropFirst(summaries.count))
        state.withLock { state in
            guard state.campaigns[name] == nil else { return }
            state.publications.append(MQTTMessage(message.topic, [], isRetained: true))
        }
    }

    private func take(plan payload: [UInt8], _ name: String) {
        guard !payload.isEmpty else { return end(name) }
        let plan: CampaignPlan
        do throws(CampaignPlan.Fault) {
            plan = try CampaignPlan.reading(payload)
        } catch {
            // It is no removal: the campaign keeps the plan that it has.
            state.withLock { $0.campaigns[name]?.isPlanned = true }
            return publisher.report(
                "campaign \(name): the plan can't be used: \(error.cause). Correct it, and publish it again."
            )
        }
        guard canTake(plan, name) else { return }
        let hasImage = hasImage(plan.image)
        let isNew = state.withLock { state -> Bool? in
            // Each subscription makes the broker send the whole image, so the campaigns that wait for it share one.
            let isAwaited = state.missingImages.contains(plan.image)
            defer {
                if !isAwaited, state.missingImages.contains(plan.image) {
                    state.changes.append(.subscribe(topic(ofImage: plan.image)))
                }
            }
            guard state.campaigns[name] == nil else {
                if !hasImage { state.campaigns[name]?.hasImage = false }
                state.campaigns[name]?.isPlanned = true
                return false
            }
            guard state.campaigns.count < Self.limit else { return nil }
            state.campaigns[name] = Campaign(
                machine: CampaignMachine(plan, limit: settings.concurrent),
                hasImage: hasImage
            )
            state.changes.append(.subscribe(records(name)))
            return true
        }
        switch isNew {
        case true?: hold(name)
        case false?:
            give(.plan(plan), to: name)
            hold(name)
        case nil:
            state.withLock { _ = $0.ignored.insert(name) }
            publisher.report("campaign \(name): there are \(Self.limit) campaigns already. Remove the plan of one.")
        }
        // Only now: the plan may stop a campaign that waits for the image.
        if hasImage, isNew != nil { takePart(plan.image) }
    }

    /// Whether a plan is one of a new campaign, or changes what may change of one that there is.
    private func canTake(_ plan: CampaignPlan, _ name: String) -> Bool {
        let known = state.withLock { $0.campaigns[name] }
        guard let known, !plan.isSameCampaign(as: known.machine.plan) else { return true }
        guard known.isPlanned else {
            publisher.report("campaign \(name): its plan was replaced while there was no connection")
            // What is retained is of the new one.
            forget(name, removesRecords: false)
            return true
        }
        publisher.report(
            "campaign \(name): the image, the devices and the waves of a campaign can't be changed; the first plan "
                + "stays in force. Publish the first plan again, and the new one under another name; or remove the "
                + "first plan before you publish the new one."
        )
        return false
    }

    /// Tells a campaign which devices the gateway holds.
    func hold(_ name: String) {
        let devices = state.withLock { $0.campaigns[name]?.hasImage == true ? Array($0.devices.keys) : [] }
        for device in devices {
            if let epoch = leases.epoch(of: device) { give(.held(device, epoch), to: name) }
        }
    }

    /// The plan was removed: what runs ends, and nothing more begins, not even another attempt.
    private func end(_ name: String) {
        forget(name, removesRecords: true)
        publisher.remove("campaign/\(name)")
        state.withLock { state in
            state.ignored.remove(name)
            guard !state.ignored.isEmpty, state.campaigns.count < Self.limit else { return }
            // The broker then sends all plans again, also those for which there was no place.
            state.ignored = []
            state.changes.append(.subscribe(plans))
        }
    }

    private func forget(_ name: String, removesRecords: Bool) {
        state.withLock { state in
            let missing = state.missingImages
            guard let old = state.campaigns.removeValue(forKey: name) else { return }
            for pause in old.pauses.values { pause.finish() }
            if removesRecords {
                let topics = old.recorded.sorted { $0.rawValue < $1.rawValue }.map { record(of: $0, name) }
                let gone = Set(topics)
                state.publications.removeAll { gone.contains($0.topic) }
                state.publications += topics.map { MQTTMessage($0, [], isRetained: true) }
            }
            state.changes.append(.unsubscribe(records(name)))
            state.changes += missing.subtracting(state.missingImages).map { .unsubscribe(topic(ofImage: $0)) }
        }
    }

    func nextChange() -> MQTTSubscriptionChange? {
        state.withLock { $0.changes.isEmpty ? nil : $0.changes.removeFirst() }
    }

    func next() -> MQTTOutgoing? {
        state.withLock { state in
            guard !state.publications.isEmpty else { return nil }
            state.tokens += 1
            return MQTTOutgoing(state.tokens, state.publications.removeFirst())
        }
    }

    func acknowledged(_ token: UInt64) {}

    func refused(_ token: UInt64, _ error: MQTTError) {
        let news = state.withLock { state in
            state.hasRefusal = true
            return state.refusals.news(error)
        }
        if let news { publisher.report("campaigns: \(news)") }
    }
}
