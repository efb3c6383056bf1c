// What the gateway does about one peripheral, whenever something may have changed.

extension LeaseMachine {
    mutating func update(_ slot: Int, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        if let retryAt = slots[slot]?.pending?.retryAt, now >= retryAt { slots[slot]?.pending = nil }
        guard let known = slots[slot] else { return }
        if known.tenure == nil, now >= known.heardAt + terms.forgetting { return forget(slot, &effects) }
        updateActing(slot, now, &effects)
        if session != nil, known.listeningUntil != nil {
            if slots[slot]?.tenure != nil {
                tend(slot, now, &effects)
            } else {
                considerClaim(slot, now, &effects)
                considerBid(slot, now, &effects)
            }
            if let noteAt = slots[slot]?.noteAt, now >= noteAt {
                slots[slot]?.noteAt = nil
                effects.publish.append(.init(peripheral: known.id, message: .note(known.acted)))
            }
        }
        arm(slot, now, &effects)
    }

    // MARK: - Acting

    /// When the gateway must have stopped, on its own clock.
    func actingEnd(_ slot: Int) -> Milliseconds {
        guard let tenure = slots[slot]?.tenure, let provenAt = tenure.provenAt else { return .min }
        guard rules.stopsUnconfirmed else { return .max }
        guard let confirmedUntil else { return .min }
        return min(confirmedUntil, provenAt + terms.shortened(terms.lease) - terms.parting)
    }

    mutating func updateActing(_ slot: Int, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let known = slots[slot], let tenure = known.tenure else { return }
        let hasListened = known.listeningUntil.map { now >= $0 } ?? false
        let acts = hasListened && now < actingEnd(slot)
        guard acts != tenure.isActing else { return }
        slots[slot]?.tenure?.isActing = acts
        if acts {
            effects.acquire.append(.init(peripheral: known.id, epoch: tenure.epoch))
        } else {
            effects.release.append(known.id)
            slots[slot]?.tenure?.provenAt = nil
            slots[slot]?.pending?.proves = false
        }
    }

    mutating func endTenure(_ slot: Int, _ effects: inout LeaseEffects) {
        guard let known = slots[slot], let tenure = known.tenure else { return }
        if tenure.isActing { effects.release.append(known.id) }
        slots[slot]?.tenure = nil
    }

    /// Renews, or releases what the gateway no longer hears.
    private mutating func tend(_ slot: Int, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let known = slots[slot], let tenure = known.tenure else { return }
        if now >= known.heardAt + terms.silence { return release(slot, to: nil, now, &effects) }
        guard known.pending == nil else { return }
        var epoch = tenure.epoch
        if epoch < known.acted, let higher = nextEpoch(slot) { epoch = higher }
        guard known.tail != tenure.mark || tenure.provenAt == nil || now >= tenure.renewAt || epoch != tenure.epoch
        else { return }
        publish(epoch, .held, slot, now, &effects)
    }

    mutating func release(
        _ slot: Int,
        to next: GatewayID?,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        guard let epoch = slots[slot]?.tenure?.epoch else { return }
        endTenure(slot, &effects)
        publish(epoch, .released(to: next), slot, now, &effects)
        arm(slot, now, &effects)
    }

    // MARK: - Claiming

    private mutating func considerClaim(_ slot: Int, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let known = slots[slot], known.pending == nil else { return }
        guard !hasStopped, now < known.heardAt + terms.silence, let freeAt = freeTime(known), now >= freeAt else {
            if !isFormer(known) { slots[slot]?.claimAt = nil }
            return
        }
        let claimAt = known.claimAt ?? now + delay(known, now)
        slots[slot]?.claimAt = claimAt
        guard now >= claimAt, let epoch = nextEpoch(slot) else { return }
        slots[slot]?.claimAt = nil
        publish(epoch, .held, slot, now, &effects)
    }

    /// Whether the last owner finds its topic as it left it, or empty. It claims without listening, but acts after it.
    private func isFormer(_ known: HeardPeripheral) -> Bool {
        guard let former = known.former else { return false }
        return known.tail == nil || known.tail == former
    }

    /// From when on nobody acts on the peripheral by its record; `nil`: that is unknown.
    private func freeTime(_ known: HeardPeripheral) -> Milliseconds? {
        guard let listeningUntil = known.listeningUntil else { return nil }
        if isFormer(known) { return .min }
        guard let record = known.record else { return listeningUntil }
        let isOver =
            record.isReleased || record.epoch.gateway == gateway
            || (terms.trustsWills && watched[record.epoch.gateway]?.gone == record.mark.session)
        return isOver ? listeningUntil : max(listeningUntil, known.recordAt + terms.waited(terms.lease))
    }

    /// Whoever receives the peripheral best claims first, and whoever couldn't connect to it comes last.
    private mutating func delay(_ known: HeardPeripheral, _ now: Milliseconds) -> Milliseconds {
        if isFormer(known) { return 0 }
        var delay = Milliseconds(min(max(-50 - known.strength, 0), 50)) * 40 + random.below(500)
        if case .released(let next?) = known.record?.state {
            if next == gateway { return 0 }
            delay += terms.courtesy
        }
        if now < known.deferringUntil { delay += terms.deference }
        return delay
    }

    private mutating func considerBid(_ slot: Int, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let known = slots[slot], let record = known.record, !record.isReleased, !hasStopped,
            record.epoch.gateway != gateway, known.strength >= record.strength + terms.hysteresis,
            ceiling > highestNumber, now >= known.deferringUntil
        else {
            slots[slot]?.betterSince = nil
            return
        }
        let since = known.betterSince ?? now
        slots[slot]?.betterSince = since
        guard now >= since + terms.dwell, now >= known.bidAt else { return }
        slots[slot]?.bidAt = now + terms.tenure + random.below(terms.tenure / 4)
        let bid = LeaseBid(epoch: record.epoch, gateway: gateway, strength: known.strength)
        effects.publish.append(.init(peripheral: known.id, message: .bid(bid)))
    }

    // MARK: - Records and timers

    private mutating func publish(
        _ epoch: Epoch,
        _ state: LeaseRecord.State,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        guard let session, let known = slots[slot] else { return }
        sequence &+= 1
        let mark = Mark(session: session, sequence: sequence)
        // A record on its way will be the last one when this one arrives; one that was refused doesn't arrive.
        let after = known.pending.flatMap { $0.retryAt == nil ? $0.mark : nil } ?? known.tail
        let record = LeaseRecord(epoch: epoch, mark: mark, after: after, strength: known.strength, state: state)
        slots[slot]?.pending = HeardPeripheral.Pending(mark: mark, sentAt: now)
        slots[slot]?.highest = max(known.highest, epoch)
        effects.publish.append(.init(peripheral: known.id, message: .record(record)))
        guard !rules.waitsForEcho, known.tenure == nil, state == .held else { return }
        slots[slot]?.tenure = HeardPeripheral.Tenure(
            epoch: epoch,
            mark: mark,
            provenAt: now,
            beganAt: now,
            renewAt: now + terms.renewal
        )
        updateActing(slot, now, &effects)
    }

    /// Sets the peripheral's timer, unless an earlier one is set already: when that ends, this is asked again.
    private mutating func arm(_ slot: Int, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let known = slots[slot] else { return }
        var next = Milliseconds.max
        if let tenure = known.tenure {
            next = min(tenure.renewAt, known.heardAt + terms.silence)
            // The link's timer ends what isn't confirmed.
            if tenure.isActing, let provenAt = tenure.provenAt {
                next = min(next, provenAt + terms.shortened(terms.lease) - terms.parting)
            }
            if let listeningUntil = known.listeningUntil, now < listeningUntil { next = min(next, listeningUntil) }
        } else {
            next = known.heardAt + terms.forgetting
            if let claimAt = known.claimAt {
                next = min(next, claimAt)
            } else if known.pending == nil, now < known.heardAt + terms.silence, let freeAt = freeTime(known) {
                if freeAt > now { next = min(next, freeAt) }
            }
        }
        if let noteAt = known.noteAt { next = min(next, noteAt) }
        if let retryAt = known.pending?.retryAt { next = min(next, retryAt) }
        // What is due but waits for something else, such as the disk, is asked again in a while.
        if next <= now { next = now + 1000 }
        if let alarm = known.alarm, alarm <= next, alarm > now { return }
        slots[slot]?.alarm = next
        effects.alarms.append(.init(timer: .peripheral(known.id), time: next))
    }
}
