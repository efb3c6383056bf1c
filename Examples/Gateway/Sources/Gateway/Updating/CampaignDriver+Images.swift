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
            reportMissing(hash, error)
            return false
        }
    }

    private func reportMissing(_ hash: String, _ error: any Error) {
        publisher.report(
            """
            campaigns: \(error) Or publish it, retained, as \(topic(ofImage: hash)). Until then, this gateway only \
            watches.
            """
        )
    }

    /// Only watches the campaigns of an image that can't be read any more, until it is there again.
    func miss(_ hash: String, _ error: ImageFolder.ImageError) {
        let isNews = state.withLock { state in
            let wasMissing = state.missingImages.contains(hash)
            let isNews = !state.note(image: hash, isThere: false).isEmpty
            if isNews, !wasMissing { state.changes.append(.subscribe(topic(ofImage: hash))) }
            return isNews
        }
        if isNews { reportMissing(hash, error) }
        wake()
    }

    /// Looks from time to time whether an image is there that wasn't, or couldn't be read, and whether the broker takes
    /// by now what it has refused; until the task is cancelled.
    func lookAgain() async {
        while (try? await clock.sleep(for: settings.pause)) != nil {
            for hash in state.withLock({ $0.missingImages }) where (try? folder.bootImage(hash)) != nil {
                takePart(hash)
            }
            repeatRefused()
            if state.withLock({ $0.askAgain { topic(ofImage: $0) } }) { wake() }
        }
    }

    /// Takes part in the campaigns that waited for an image.
    func takePart(_ hash: String) {
        let names = state.withLock { state in
            let names = state.note(image: hash, isThere: true)
            if !names.isEmpty { state.changes.append(.unsubscribe(topic(ofImage: hash))) }
            return names
        }
        for name in names { hold(name) }
        wake()
    }

    /// Keeps an image that the broker has sent, and takes part in the campaigns that waited for it.
    func take(image octets: [UInt8], _ hash: String) {
        // Nobody waits for it any more, or it was removed from the broker.
        guard state.withLock({ $0.missingImages.contains(hash) }), !octets.isEmpty else { return }
        do {
            try folder.keep(octets, as: hash)
            // If the disk doesn't give it back, the broker would be asked for it again and again.
            _ = try folder.bootImage(hash)
        } catch let error as DurableFile.WriteError {
            state.withLock { $0.note(unkept: hash) }
            return keeping.tell("\(error)")
        } catch {
            return publisher.report("campaigns: \(gatewayWords(for: error))")
        }
        keeping.end()
        state.withLock { $0.unkept[hash] = nil }
        takePart(hash)
    }
}

extension CampaignDriver.State {
    /// The images that campaigns wait for.
    var missingImages: Set<String> { Set(campaigns.values.filter { !$0.hasImage }.map(\.machine.plan.image)) }

    /// Notes that the folder hasn't taken an image. Each time that it is asked for, the broker sends the whole image, so
    /// it is asked for after one look, and then after twice as many each time.
    fileprivate mutating func note(unkept hash: String) {
        let failures = (unkept[hash]?.failures ?? 0) + 1
        unkept[hash] = CampaignDriver.Unkept(failures: failures, looks: 1 << min(failures - 1, 6))
    }

    /// Subscribes again to the images that the folder hasn't taken, if it is time: the broker then sends what it retains.
    ///
    /// - Returns: whether there are any.
    fileprivate mutating func askAgain(_ topic: (String) -> String) -> Bool {
        let missing = missingImages
        unkept = unkept.filter { missing.contains($0.key) }
        for hash in unkept.keys { unkept[hash]?.looks -= 1 }
        let due = unkept.filter { $0.value.looks == 0 }.keys.sorted()
        changes += due.map { .subscribe(topic($0)) }
        return !due.isEmpty
    }

    /// Notes whether the image of campaigns is there.
    ///
    /// - Returns: those for which that is new.
    fileprivate mutating func note(image hash: String, isThere: Bool) -> [String] {
        let names = campaigns.filter { $0.value.machine.plan.image == hash && $0.value.hasImage != isThere }.map(\.key)
        for name in names { campaigns[name]?.hasImage = isThere }
        return names
    }
}
