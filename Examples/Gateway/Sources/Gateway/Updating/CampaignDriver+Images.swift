import Campaigns
import MQTT
import Synchronization

/// The images of campaigns: from the folder, or else from the broker, which may retain them.
extension CampaignDriver {
    /// The largest message, and so the largest image, in octets. A plan, with up to 100,000 devices, is smaller.
    static let largestImage = 16 << 20

    /// What the topics of images begin with.
    var images: String { "\(prefix)/images/" }

    func topic(ofImage hash: String) -> String { images + hash }

    /// Whether the image of a plan is in the folder.
    func hasImage(_ hash: String) -> Bool {
        do {
            _ = try folder.bootImage(hash)
            return true
        } catch {
            publisher.report(
                """
                campaigns: \(error) Or publish it, retained, as \(topic(ofImage: hash)). Until then, this gateway only \
                watches.
                """
            )
            return false
        }
    }

    /// Keeps an image that the broker has sent, and takes part in the campaigns that waited for it.
    func take(image octets: [UInt8], _ hash: String) {
        // Nobody waits for it any more, or it was removed from the broker.
        guard state.withLock({ $0.missingImages.contains(hash) }), !octets.isEmpty else { return }
        do {
            try folder.keep(octets, as: hash)
        } catch {
            return publisher.report("campaigns: \(error)")
        }
        let names = state.withLock { state in
            state.changes.append(.unsubscribe(topic(ofImage: hash)))
            let names = state.campaigns.filter { $0.value.machine.plan.image == hash }.map(\.key)
            for name in names { state.campaigns[name]?.hasImage = true }
            return names
        }
        for name in names { hold(name) }
    }
}

extension CampaignDriver.State {
    /// The images that campaigns wait for.
    var missingImages: Set<String> { Set(campaigns.values.filter { !$0.hasImage }.map(\.machine.plan.image)) }
}
