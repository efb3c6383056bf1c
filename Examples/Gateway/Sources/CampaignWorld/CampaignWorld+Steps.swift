import Campaigns
import Leases

// What is done to a device, step by step; each step may lose the link.

extension CampaignWorld {
    func step(_ work: Work) {
        guard gateways[work.gateway].generation == work.generation, owners[work.device] == work.gateway,
            working[work.device] == work.number
        else { return }
        var work = work
        if work.order == nil {
            guard let order = gateways[work.gateway].machine?.due(campaign.devices[work.device]) else {
                return find("gateway \(work.gateway) began on device \(work.device) with nothing to do")
            }
            work.order = order
            check(work)
        }
        if random.below(1000) < plan.loss {
            result.losses += 1
            work.losses += 1
            guard work.losses <= 8 else { return end(work, .failed("the link is lost again and again")) }
            // The next link goes on with what the device has.
            return queue.add(.step(work), at: now + 500 + random.below(10_000))
        }
        switch work.order {
        case .update?: update(work)
        case .rollBack?: rollBack(work)
        case nil: break
        }
    }

    private func update(_ work: Work) {
        var work = work
        let device = devices[work.device]
        if device.isUpdated { return end(work, .updated) }
        if device.runsNew {
            guard !device.isBad else { return end(work, .failed("the image does not confirm itself")) }
            devices[work.device].isConfirmed = true
            // The answer may be lost.
            return queue.add(.step(work), at: now + 100 + random.below(200))
        }
        if device.parts < plan.parts {
            devices[work.device].parts += 1
            devices[work.device].senders.insert(work.gateway)
            work.losses = 0
            let percent = devices[work.device].parts * 100 / plan.parts
            give(.progress(campaign.devices[work.device], percent), to: work.gateway)
        } else if !device.isPending {
            devices[work.device].isPending = true
        } else {
            devices[work.device].restart()
            return queue.add(.step(work), at: now + 3000 + random.below(3000))
        }
        queue.add(.step(work), at: now + 200 + random.below(600))
    }

    private func rollBack(_ work: Work) {
        let device = devices[work.device]
        if device.isUpdated { return end(work, .updated) }
        if device.isOld { return end(work, .rolledBack) }
        devices[work.device].restart()
        queue.add(.step(work), at: now + 3000 + random.below(3000))
    }

    private func end(_ work: Work, _ outcome: CampaignOutcome) {
        working[work.device] = nil
        if outcome == .updated, devices[work.device].senders.count > 1 { result.handedOver += 1 }
        give(.ended(campaign.devices[work.device], outcome), to: work.gateway)
    }
}
