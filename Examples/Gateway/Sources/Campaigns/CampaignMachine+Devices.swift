import Leases

// What the gateway does about the devices.

extension CampaignMachine {
    // MARK: - Records

    mutating func take(_ record: CampaignRecord, _ device: PeripheralID, _ effects: inout CampaignEffects) {
        // One of another image is of an earlier campaign of this name.
        guard let place = places[device], record.image ?? plan.image == plan.image else { return }
        if let own = unconfirmed[device], !own.isNewer(than: record) {
            unconfirmed[device] = nil
            if own == record { carryOut(device, &effects) }
        }
        if let mine = held[device], mine.epoch > record.epoch, let own = records[device], own.epoch == mine.epoch {
            // A late record of an earlier owner is in the place of this gateway's: it repeats its own.
            guard rules.comparesEpochs else { return put(record, device, place) }
            return publish(own.stage, own.failures, own.percent, own.reason, device, &effects)
        }
        if let known = records[device], !record.isNewer(than: known), rules.comparesEpochs { return }
        put(record, device, place)
    }

    /// Publishes the record of a device again, if it is this gateway's: a late removal of an earlier campaign of this
    /// name has taken it away.
    mutating func repeatRecord(of device: PeripheralID, _ effects: inout CampaignEffects) {
        guard let mine = held[device], let own = records[device], own.epoch == mine.epoch else { return }
        publish(own.stage, own.failures, own.percent, own.reason, device, &effects)
    }

    private mutating func put(_ record: CampaignRecord, _ device: PeripheralID, _ place: Int) {
        if let old = records.updateValue(record, forKey: device) { count(old, place, -1) }
        count(record, place, 1)
    }

    private mutating func count(_ record: CampaignRecord, _ place: Int, _ step: Int) {
        guard record.isSettled else { return }
        let wave = plan.wave(at: place)
        settled[wave, default: 0] += step
        if record.stage == .updated { updated += step }
        guard record.stage == .rolledBack else { return }
        failed += step
        if wave == 0 { failedCanaries += step }
    }

    private mutating func publish(
        _ stage: CampaignRecord.Stage,
        _ failures: Int,
        _ percent: Int,
        _ reason: String?,
        _ device: PeripheralID,
        _ effects: inout CampaignEffects
    ) {
        guard let place = places[device], let mine = held[device] else { return }
        // A device may have been let go, and is held again by the same epoch: others know its former records.
        var last = mine.revision
        if let known = records[device], known.epoch == mine.epoch { last = max(last, known.revision) }
        // A record with the highest revision, which only somebody else can have written, must not end the gateway.
        let revision = min(last, UInt32.max - 1) + 1
        held[device]?.revision = revision
        let record = CampaignRecord(
            epoch: mine.epoch,
            revision: revision,
            stage: stage,
            failures: failures,
            percent: percent,
            reason: reason,
            image: plan.image
        )
        put(record, device, place)
        unconfirmed[device] = record
        effects.publish.append(.init(device: device, record: record))
    }

    // MARK: - Holding

    mutating func hold(_ device: PeripheralID, _ epoch: Epoch, _ effects: inout CampaignEffects) {
        guard places[device] != nil else { return }
        if held[device] == nil {
            held[device] = Held(epoch: epoch)
        } else if held[device]?.epoch != epoch {
            held[device]?.epoch = epoch
            held[device]?.revision = 0
            // What goes on does so by the new epoch.
            if held[device]?.order != nil, let record = records[device] {
                publish(record.stage, record.failures, record.percent, record.reason, device, &effects)
            }
        }
    }

    /// The gateway doesn't hold a device any more; its order is cancelled.
    mutating func letGo(_ device: PeripheralID) {
        if let old = held.removeValue(forKey: device), old.order != nil { running -= 1 }
    }

    mutating func note(_ percent: Int, _ device: PeripheralID, _ effects: inout CampaignEffects) {
        guard held[device]?.order == .update, let record = records[device], record.stage == .updating else { return }
        let percent = min(max(percent, 0), 100)
        // Each tenth is enough for a person, and little for a broker.
        guard percent / 10 != record.percent / 10 else { return }
        publish(.updating, record.failures, percent, record.reason, device, &effects)
    }

    mutating func settle(_ device: PeripheralID, _ outcome: CampaignOutcome, _ effects: inout CampaignEffects) {
        guard let order = held[device]?.order, let record = records[device] else { return }
        held[device]?.order = nil
        running -= 1
        switch outcome {
        case .updated: publish(.updated, record.failures, 100, nil, device, &effects)
        case .rolledBack: publish(.rolledBack, record.failures, 0, record.reason, device, &effects)
        case .failed(let reason):
            held[device]?.turns += 1
            // Rolling back never gives up: a device between two images is what must not remain.
            let failures = record.failures + (order == .update ? 1 : 0)
            let isGivenUp = failures >= plan.attempts && !rules.rollsBack
            let stage: CampaignRecord.Stage = isGivenUp ? .rolledBack : .updating
            publish(stage, failures, record.percent, reason, device, &effects)
        }
    }

    // MARK: - Deciding

    /// Begins what may begin: what has failed least here first, of that what has begun before, in the order of the
    /// plan.
    mutating func decide(_ effects: inout CampaignEffects) {
        guard isSynchronized, running < limit else { return }
        let open = isStopped ? -1 : openWave
        let idle = held.compactMap { device, mine -> (device: PeripheralID, rank: (Int, Int, Int))? in
            guard mine.order == nil, let place = places[device] else { return nil }
            let record = records[device]
            guard record.map({ !$0.isSettled }) ?? (plan.wave(at: place) <= open) else { return nil }
            return (device, (mine.turns, record == nil ? 1 : 0, place))
        }
        for (device, _) in idle.sorted(by: { $0.rank < $1.rank }).prefix(limit - running) { goOn(device, &effects) }
    }

    private mutating func goOn(_ device: PeripheralID, _ effects: inout CampaignEffects) {
        guard let mine = held[device] else { return }
        let order = order(for: device)
        running += 1
        held[device]?.order = order
        if mine.isAnnounced {
            effects.begin.append(.init(device: device, order: order, failures: failures(of: device)))
        } else {
            // Nothing is done to a device before the broker has the record: else, if this gateway ended now, nobody
            // would know that it has begun.
            let record = records[device]
            publish(.updating, failures(of: device), record?.percent ?? 0, record?.reason, device, &effects)
        }
    }

    /// The broker has the record of this tenure: its order may begin.
    private mutating func carryOut(_ device: PeripheralID, _ effects: inout CampaignEffects) {
        guard let mine = held[device], mine.order != nil, !mine.isAnnounced else { return }
        let order = order(for: device)
        held[device]?.isAnnounced = true
        held[device]?.order = order
        effects.begin.append(.init(device: device, order: order, failures: failures(of: device)))
    }

    private func failures(of device: PeripheralID) -> Int { records[device]?.failures ?? 0 }

    /// What is to be done to a device that has begun.
    func order(for device: PeripheralID) -> CampaignOrder {
        isStopped || failures(of: device) >= plan.attempts ? .rollBack : .update
    }
}
