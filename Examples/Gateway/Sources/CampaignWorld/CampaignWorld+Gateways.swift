import Campaigns
import Leases

// The gateways, their crashes, and the broker between them.

extension CampaignWorld {
    func start(_ gateway: Int) {
        gateways[gateway].generation += 1
        gateways[gateway].settled = [:]
        gateways[gateway].machine = CampaignMachine(campaign, limit: 4, rules: plan.rules)
        connect(gateway)
    }

    private func connect(_ gateway: Int) {
        gateways[gateway].isCut = false
        gateways[gateway].connection += 1
        (gateways[gateway].lastDelivery, gateways[gateway].lastSending) = (0, 0)
        let connection = gateways[gateway].connection
        let delay = 200 + random.below(2000)
        // What the broker retains comes before the answer to the gateway's own message.
        for (device, record) in retained.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            deliver(device, record, to: gateway, after: delay)
        }
        queue.add(.synchronize(gateway, connection: connection), at: max(now + delay, gateways[gateway].lastDelivery))
    }

    /// The broker can't be reached for a while: what the gateway says is lost, and so are its leases after 8 s.
    func cut(_ gateway: Int) {
        guard gateways[gateway].machine != nil, !gateways[gateway].isCut else { return }
        let generation = gateways[gateway].generation
        gateways[gateway].isCut = true
        gateways[gateway].connection += 1
        queue.add(.lapse(gateway, generation: generation), at: now + 8000)
        queue.add(.reconnect(gateway, generation: generation), at: now + 20_000 + random.below(60_000))
    }

    func lapse(_ gateway: Int) {
        give(.disconnected, to: gateway)
        for device in devices.indices where owners[device] == gateway {
            give(.lost(campaign.devices[device]), to: gateway)
        }
        disown(gateway)
    }

    func reconnect(_ gateway: Int) {
        if gateways[gateway].machine != nil { connect(gateway) }
    }

    /// The devices of a gateway get other owners.
    private func disown(_ gateway: Int) {
        for device in devices.indices where owners[device] == gateway {
            owners[device] = nil
            working[device] = nil
            let others = gateways.indices.filter { gateways[$0].machine != nil && !gateways[$0].isCut }
            let next = others.isEmpty ? gateway : others[Int(random.below(Int64(others.count)))]
            queue.add(.own(device, next), at: now + 11_000 + random.below(5000))
        }
    }

    func crash(_ gateway: Int) {
        guard gateways[gateway].machine != nil else { return }
        result.crashes += 1
        gateways[gateway].machine = nil
        gateways[gateway].generation += 1
        queue.add(.start(gateway), at: now + 5000 + random.below(60_000))
        disown(gateway)
    }

    func own(_ device: Int, _ gateway: Int) {
        guard owners[device] == nil else { return }
        guard gateways[gateway].machine != nil, !gateways[gateway].isCut else {
            let next = Int(random.below(Int64(plan.gateways)))
            return queue.add(.own(device, next), at: now + 5000)
        }
        owners[device] = gateway
        epochs[device] += 1
        give(.held(campaign.devices[device], epoch(of: device, gateway)), to: gateway)
    }

    private func epoch(of device: Int, _ gateway: Int) -> Epoch {
        Epoch(number: epochs[device], gateway: GatewayID(rawValue: UInt64(gateway) + 1))
    }

    /// The configuration of a gateway changes: it lets the links of its devices go, and keeps their leases.
    func reload(_ gateway: Int) {
        guard gateways[gateway].machine != nil else { return }
        result.reloads += 1
        for device in devices.indices where owners[device] == gateway {
            working[device] = nil
            give(.lost(campaign.devices[device]), to: gateway)
            let again = Event.holdAgain(
                device,
                gateway,
                generation: gateways[gateway].generation,
                epoch(of: device, gateway)
            )
            queue.add(again, at: now + random.below(3000))
        }
    }

    func holdAgain(_ device: Int, _ gateway: Int, _ epoch: Epoch) {
        guard owners[device] == gateway, self.epoch(of: device, gateway) == epoch else { return }
        give(.held(campaign.devices[device], epoch), to: gateway)
    }

    func give(_ input: CampaignInput, to gateway: Int) {
        guard let effects = gateways[gateway].machine?.handle(input) else { return }
        if case .record(let device, let record) = input { learn(record, device, gateway) }
        // A connection that stalls: its gateway crashes, and what it sent comes when the device has another owner.
        let isStalled = !effects.publish.isEmpty && random.below(plan.stalls) == 0
        let delay = isStalled ? 17_000 + random.below(10_000) : 2 + random.below(50)
        if isStalled { queue.add(.stall(gateway, generation: gateways[gateway].generation), at: now) }
        for publication in effects.publish {
            note(publication)
            guard !gateways[gateway].isCut else { continue }
            learn(publication.record, publication.device, gateway)
            let time = max(now + delay, gateways[gateway].lastSending)
            gateways[gateway].lastSending = time
            queue.add(.retain(publication.device, publication.record), at: time)
        }
        for begin in effects.begin { self.begin(begin, gateway) }
    }

    /// A gateway knows now that a device is settled, or that a later owner has begun again.
    private func learn(_ record: CampaignRecord, _ device: PeripheralID, _ gateway: Int) {
        if let known = gateways[gateway].settled[device], !record.isNewer(than: known) { return }
        gateways[gateway].settled[device] = record.isSettled ? record : nil
    }

    func retain(_ device: PeripheralID, _ record: CampaignRecord) {
        retained[device] = record
        for gateway in gateways.indices where gateways[gateway].machine != nil && !gateways[gateway].isCut {
            deliver(device, record, to: gateway, after: 2 + random.below(50))
        }
    }

    private func deliver(_ device: PeripheralID, _ record: CampaignRecord, to gateway: Int, after delay: Int64) {
        let time = max(now + delay, gateways[gateway].lastDelivery)
        gateways[gateway].lastDelivery = time
        queue.add(.deliver(gateway, connection: gateways[gateway].connection, device, record), at: time)
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
            order: nil,
            number: result.orders
        )
        queue.add(.step(work), at: now + 300 + random.below(3000) + Int64(begin.failures) * 5000)
    }
}
