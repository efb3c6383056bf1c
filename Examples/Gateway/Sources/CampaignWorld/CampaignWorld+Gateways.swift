import Campaigns
import Leases

// The gateways, their crashes, and the broker between them.

extension CampaignWorld {
    func start(_ gateway: Int) {
        gateways[gateway].generation += 1
        gateways[gateway].settled = []
        gateways[gateway].machine = CampaignMachine(campaign, limit: 4, rules: plan.rules)
        let generation = gateways[gateway].generation
        let delay = 200 + random.below(2000)
        // What the broker retains comes before the answer to the gateway's own message.
        for (device, record) in retained.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            deliver(device, record, to: gateway, after: delay)
        }
        queue.add(.synchronize(gateway, generation: generation), at: max(now + delay, gateways[gateway].lastDelivery))
    }

    func crash(_ gateway: Int) {
        guard gateways[gateway].machine != nil else { return }
        result.crashes += 1
        gateways[gateway].machine = nil
        gateways[gateway].generation += 1
        (gateways[gateway].lastDelivery, gateways[gateway].lastSending) = (0, 0)
        queue.add(.start(gateway), at: now + 5000 + random.below(60_000))
        for device in devices.indices where owners[device] == gateway {
            owners[device] = nil
            working[device] = nil
            let others = gateways.indices.filter { gateways[$0].machine != nil }
            let next = others.isEmpty ? gateway : others[Int(random.below(Int64(others.count)))]
            queue.add(.own(device, next), at: now + 11_000 + random.below(5000))
        }
    }

    func own(_ device: Int, _ gateway: Int) {
        guard owners[device] == nil else { return }
        guard gateways[gateway].machine != nil else {
            let next = Int(random.below(Int64(plan.gateways)))
            return queue.add(.own(device, next), at: now + 5000)
        }
        owners[device] = gateway
        epochs[device] += 1
        let epoch = Epoch(number: epochs[device], gateway: GatewayID(rawValue: UInt64(gateway) + 1))
        give(.held(campaign.devices[device], epoch), to: gateway)
    }

    func give(_ input: CampaignInput, to gateway: Int) {
        guard let effects = gateways[gateway].machine?.handle(input) else { return }
        if case .record(let device, let record) = input, record.isSettled { gateways[gateway].settled.insert(device) }
        // A connection that stalls: its gateway crashes, and what it sent comes when the device has another owner.
        let isStalled = !effects.publish.isEmpty && random.below(400) == 0
        let delay = isStalled ? 17_000 + random.below(10_000) : 2 + random.below(50)
        if isStalled { queue.add(.stall(gateway, generation: gateways[gateway].generation), at: now) }
        for publication in effects.publish {
            note(publication)
            if publication.record.isSettled { gateways[gateway].settled.insert(publication.device) }
            let time = max(now + delay, gateways[gateway].lastSending)
            gateways[gateway].lastSending = time
            queue.add(.retain(publication.device, publication.record), at: time)
        }
        for begin in effects.begin { self.begin(begin, gateway) }
    }

    func retain(_ device: PeripheralID, _ record: CampaignRecord) {
        retained[device] = record
        for gateway in gateways.indices where gateways[gateway].machine != nil {
            deliver(device, record, to: gateway, after: 2 + random.below(50))
        }
    }

    private func deliver(_ device: PeripheralID, _ record: CampaignRecord, to gateway: Int, after delay: Int64) {
        let time = max(now + delay, gateways[gateway].lastDelivery)
        gateways[gateway].lastDelivery = time
        queue.add(.deliver(gateway, generation: gateways[gateway].generation, device, record), at: time)
    }

    private func begin(_ begin: CampaignEffects.Begin, _ gateway: Int) {
        result.orders += 1
        let device = Int(begin.device.rawValue) - 1
        check(begin, device, gateway)
        begun.insert(device)
        working[device] = result.orders
        let work = Work(
            gateway: gateway,
            generation: gateways[gateway].generation,
            device: device,
            order: begin.order,
            number: result.orders
        )
        queue.add(.step(work), at: now + 300 + random.below(3000) + Int64(begin.failures) * 5000)
    }
}
