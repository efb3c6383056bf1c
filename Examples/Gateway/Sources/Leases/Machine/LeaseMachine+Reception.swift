// What the gateway hears, and which topics it follows therefore.

extension LeaseMachine {
    mutating func hear(
        _ peripheral: PeripheralID,
        _ strength: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        let strength = min(max(strength, -128), 20)
        if let slot = index[peripheral] {
            slots[slot]?.hear(strength, at: now)
            update(slot, now, &effects)
        } else if index.count < terms.capacity {
            let slot = freeSlots.popLast() ?? slots.count
            let known = HeardPeripheral(id: peripheral, strength: strength, at: now)
            if slot == slots.count { slots.append(known) } else { slots[slot] = known }
            index[peripheral] = slot
            if session != nil { effects.subscribe.append(peripheral) }
            update(slot, now, &effects)
        } else {
            ignore()
        }
    }

    /// The gateway can't connect to what it owns: another one may be able to. One that isn't heard any more is away for
    /// all of them.
    mutating func giveUp(_ peripheral: PeripheralID, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let slot = index[peripheral], let known = slots[slot], known.tenure?.isActing == true,
            now < known.heardAt + terms.patience
        else { return }
        slots[slot]?.deferringUntil = now + terms.setback
        release(slot, to: nil, now, &effects)
    }

    mutating func beginListening(_ peripheral: PeripheralID, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard session != nil, let slot = index[peripheral], slots[slot]?.listeningUntil == nil else { return }
        slots[slot]?.listeningUntil = rules.listens ? now + terms.waited(terms.listening) : now
        // The broker may have lost what it retained: the last owner speaks first, and who knows its epoch after it.
        if slots[slot]?.tail == nil {
            if slots[slot]?.former != nil { slots[slot]?.claimAt = now + 2000 + random.below(500) }
            if slots[slot]?.acted != Epoch.none { slots[slot]?.noteAt = now + 4000 + random.below(2000) }
        }
        update(slot, now, &effects)
    }

    /// Forgets a peripheral that hasn't been heard for long; later claims are above its epochs.
    mutating func forget(_ slot: Int, _ effects: inout LeaseEffects) {
        guard let known = slots[slot] else { return }
        setRecord(nil, slot, known.recordAt, &effects)
        floor = max(floor, known.highest.number)
        highestNumber = max(highestNumber, floor)
        index[known.id] = nil
        slots[slot] = nil
        freeSlots.append(slot)
        if session != nil { effects.unsubscribe.append(known.id) }
    }

    // MARK: - Wills

    mutating func noteGone(
        _ gateway: GatewayID,
        _ session: SessionID,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        guard watched[gateway] != nil, watched[gateway]?.gone != session else { return }
        watched[gateway]?.gone = session
        for slot in slots.indices where slots[slot]?.record?.epoch.gateway == gateway {
            update(slot, now, &effects)
        }
    }

    /// Takes a record as the valid one, and follows the will of its gateway.
    mutating func setRecord(
        _ record: LeaseRecord?,
        _ slot: Int,
        _ now: Milliseconds,
        _ effects: inout LeaseEffects
    ) {
        let old = slots[slot]?.record?.epoch.gateway
        slots[slot]?.record = record
        slots[slot]?.recordAt = now
        let new = record?.epoch.gateway
        guard old != new else { return }
        if let new, new != gateway {
            if watched[new] == nil { effects.watch.append(new) }
            watched[new, default: Watched()].records += 1
        }
        if let old, old != gateway, let left = watched[old] {
            watched[old]?.records = left.records - 1
            guard left.records <= 1 else { return }
            watched[old] = nil
            effects.unwatch.append(old)
        }
    }
}
