// The messages on the topic of a peripheral, in the broker's order.

extension LeaseMachine {
    mutating func take(
        _ message: LeaseMessage,
        _ isRetained: Bool,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        // What comes before the subscription is what is left of an earlier one: its predecessor is unknown.
        guard session != nil, let known = slots[slot],
            isRetained || known.hasRetained || known.listeningUntil != nil
        else { return }
        switch message {
        case .record(let record):
            if isRetained {
                takeRetained(record, slot, now, &effects)
            } else {
                takeRecord(record, slot, now, &effects)
            }
        case .bid(let bid): takeBid(bid, slot, now, &effects)
        case .note(let epoch): takeNote(epoch, slot)
        }
        update(slot, now, &effects)
    }

    /// What the topic had when it was subscribed: its last record. Nobody knows whether it is valid, but while the
    /// gateway listens, every owner that it hides speaks.
    private mutating func takeRetained(
        _ record: LeaseRecord,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        guard slots[slot]?.hasRetained == false, slots[slot]?.tenure == nil else { return }
        slots[slot]?.hasRetained = true
        slots[slot]?.tail = record.mark
        if record.mark != slots[slot]?.former { slots[slot]?.former = nil }
        slots[slot]?.claimAt = nil
        guard record.epoch.isUsable else { return }
        learn(record, slot, now)
        setRecord(record, slot, now, &effects)
    }

    private mutating func takeRecord(
        _ record: LeaseRecord,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        let isNext = record.after == slots[slot]?.tail || !rules.comparesPredecessors
        let isValid = isNext && record.epoch.isUsable
        slots[slot]?.tail = record.mark
        remember(record.epoch, slot)
        let pending = slots[slot]?.pending
        if let pending, pending.mark == record.mark {
            slots[slot]?.pending = nil
            if isValid { takeOwn(record, pending, slot, now, &effects) }
        } else if isValid {
            endTenure(slot, &effects)
            slots[slot]?.former = nil
            slots[slot]?.claimAt = nil
            learn(record, slot, now)
            setRecord(record, slot, now, &effects)
            slots[slot]?.isWitnessed = true
        } else if slots[slot]?.record == nil, record.epoch.isUsable {
            // Nothing readable was retained, so its predecessor is unknown: it may be valid for others.
            setRecord(record, slot, now, &effects)
        }
        // A release is a fact, even one that came too late to be the next record.
        if !isValid, record.isReleased, let held = slots[slot]?.record, held.epoch == record.epoch, !held.isReleased {
            slots[slot]?.record?.state = record.state
        }
    }

    /// The gateway's own record came back, and nothing was between it and its predecessor.
    private mutating func takeOwn(
        _ record: LeaseRecord,
        _ pending: HeardPeripheral.Pending,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        learn(record, slot, now)
        setRecord(record, slot, now, &effects)
        slots[slot]?.former = nil
        slots[slot]?.claimAt = nil
        guard !record.isReleased else { return }
        let renewAt = now + terms.renewal * 7 / 8 + random.below(terms.renewal / 4)
        let provenAt = pending.proves ? pending.sentAt : nil
        if let tenure = slots[slot]?.tenure {
            updateActing(slot, now, &effects)
            slots[slot]?.tenure?.epoch = record.epoch
            slots[slot]?.tenure?.mark = record.mark
            slots[slot]?.tenure?.renewAt = renewAt
            if pending.proves { slots[slot]?.tenure?.provenAt = provenAt }
            if tenure.epoch != record.epoch, slots[slot]?.tenure?.isActing == true, let id = slots[slot]?.id {
                effects.acquire.append(.init(peripheral: id, epoch: record.epoch))
            }
        } else {
            // Who knows a higher epoch has time to say so.
            if slots[slot]?.isWitnessed == false { listen(for: terms.courtesy, slot, now) }
            slots[slot]?.tenure = HeardPeripheral.Tenure(
                epoch: record.epoch,
                mark: record.mark,
                provenAt: provenAt,
                beganAt: now,
                renewAt: renewAt
            )
        }
        slots[slot]?.isWitnessed = true
    }

    /// The broker has refused a record. Its access rules may be corrected: another one is published after a while.
    mutating func noteRefused(
        _ peripheral: PeripheralID,
        _ mark: Mark,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        guard let slot = index[peripheral], slots[slot]?.pending?.mark == mark else { return }
        slots[slot]?.pending?.retryAt = now + terms.renewal
        update(slot, now, &effects)
    }

    private mutating func listen(for duration: Milliseconds, _ slot: Int, _ now: Milliseconds) {
        guard rules.listens, let until = slots[slot]?.listeningUntil else { return }
        slots[slot]?.listeningUntil = max(until, now + duration)
    }

    // MARK: - Epochs

    private mutating func remember(_ epoch: Epoch, _ slot: Int) {
        guard epoch.isUsable else { return }
        if let highest = slots[slot]?.highest, epoch > highest { slots[slot]?.highest = epoch }
        highestNumber = max(highestNumber, epoch.number)
    }

    /// A valid record: its gateway may act by its epoch. If the peripheral has had a higher one, somebody must say so.
    private mutating func learn(_ record: LeaseRecord, _ slot: Int, _ now: Milliseconds) {
        remember(record.epoch, slot)
        guard let acted = slots[slot]?.acted else { return }
        if record.epoch < acted {
            if record.epoch.gateway != gateway, slots[slot]?.noteAt == nil {
                slots[slot]?.noteAt = now + 200 + random.below(1300)
            }
        } else {
            slots[slot]?.acted = record.epoch
            slots[slot]?.noteAt = nil
        }
    }

    private mutating func takeNote(_ epoch: Epoch, _ slot: Int) {
        guard epoch.isUsable, let acted = slots[slot]?.acted else { return }
        remember(epoch, slot)
        guard epoch >= acted else { return }
        slots[slot]?.acted = epoch
        slots[slot]?.noteAt = nil
    }

    /// An owner yields to a gateway that receives the peripheral much better.
    private mutating func takeBid(
        _ bid: LeaseBid,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        guard let known = slots[slot], let tenure = known.tenure, tenure.isActing, bid.gateway != gateway,
            bid.epoch == tenure.epoch, now >= tenure.beganAt + terms.tenure, known.pending == nil,
            bid.strength >= known.strength + terms.hysteresis
        else { return }
        release(slot, to: bid.gateway, now, &effects)
    }
}
