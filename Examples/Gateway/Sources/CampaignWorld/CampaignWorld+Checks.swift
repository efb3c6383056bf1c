import Campaigns
import Leases

// What must be so.

extension CampaignWorld {
    /// A record says that a device is settled: from now on nothing is done to it.
    func note(_ publication: CampaignEffects.Publication) {
        let device = Int(publication.device.rawValue) - 1
        guard publication.record.isSettled else { return }
        settled.insert(device)
        let isTrue =
            publication.record.stage == .updated ? devices[device].isUpdated : devices[device].isOld
        if !isTrue { find("the record of device \(device) says \(publication.record.stage), which isn't so") }
    }

    func check(_ begin: CampaignEffects.Begin, _ device: Int, _ gateway: Int) {
        if owners[device] != gateway { find("gateway \(gateway) acts on device \(device), which it doesn't hold") }
        if working[device] != nil { find("device \(device) has two orders at once") }
        // One that starts when a late record is in the place of the newest looks again, and finds what is so.
        if gateways[gateway].settled[begin.device] != nil { find("device \(device) is settled, and begins again") }
        guard !begun.contains(device) else { return }
        let wave = campaign.wave(at: device)
        let before = campaign.devices(before: wave)
        let done = (0..<before).count { settled.contains($0) }
        let least = wave == 1 ? 100 : campaign.settled
        if done * 100 < before * least {
            find("device \(device) of wave \(wave) begins when \(done) of \(before) before it are settled")
        }
    }

    /// After its pause: the campaign may have stopped meanwhile.
    func check(_ work: Work) {
        guard work.order == .update, gateways[work.gateway].machine?.isStopped == true else { return }
        find("gateway \(work.gateway) updates device \(work.device) in a campaign that has stopped")
    }

    /// Whether all that began is settled, and nothing more begins.
    var isOver: Bool {
        // As a gateway says that has just started: what counts is what the broker has.
        guard working.isEmpty, settled.count >= begun.count, retained.values.allSatisfy(\.isSettled) else {
            return false
        }
        let counts = gateways.filter { !$0.isCut }.compactMap(\.machine?.counts)
        guard let first = counts.first, counts.allSatisfy(\.isOver) else { return false }
        result.isStopped = first.isStopped
        return first.isStopped || begun.count == devices.count
    }

    /// The end: each device is updated, rolled back, or was never touched.
    func judge() {
        result.seconds = Int(now / 1000)
        for (number, device) in devices.enumerated() {
            if device.isUpdated {
                result.updated += 1
            } else if device.isOld, settled.contains(number) {
                result.rolledBack += 1
            } else if device.isOld, !begun.contains(number), device.parts == 0 {
                result.untouched += 1
            } else {
                result.between += 1
                find("device \(number) is neither updated nor rolled back")
            }
        }
        let open = retained.filter { !$0.value.isSettled }.keys.map(\.description).sorted()
        if !open.isEmpty { find("the broker's records of \(open.joined(separator: ", ")) are not settled") }
        if !result.isStopped, result.untouched > 0 { find("\(result.untouched) devices never began") }
        // What had begun when the last failure became known may fail, too.
        let most = campaign.failures + campaign.wave + campaign.canaries
        if result.rolledBack > most + plan.gateways * 4 { find("\(result.rolledBack) devices failed before the stop") }
    }
}
