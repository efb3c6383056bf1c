// The connection to the broker, its confirmation by pulses, and the disk.

extension LeaseMachine {
    mutating func connect(_ session: SessionID, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        if self.session != nil { disconnect(now, &effects) }
        self.session = session
        sequence = 0
        pulse = nil
        pulseAt = now
        for slot in slots.indices {
            update(slot, now, &effects)
            if let id = slots[slot]?.id { effects.subscribe.append(id) }
        }
    }

    /// An owner without a connection isn't one: the broker may end the session, and publish its will, at any time.
    mutating func disconnect(_ now: Milliseconds, _ effects: inout LeaseEffects) {
        session = nil
        pulse = nil
        confirmedUntil = nil
        watched.removeAll(keepingCapacity: true)
        for slot in slots.indices {
            guard let known = slots[slot] else { continue }
            if known.tenure?.isActing == true { effects.release.append(known.id) }
            slots[slot]?.forgetTopic()
            update(slot, now, &effects)
        }
    }

    /// Ends what the gateway may no longer act on, before anything can prolong it.
    ///
    /// Each tenure then needs a record that comes back: what was on its way meanwhile may have ended it.
    mutating func stopIfUnconfirmed(_ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard rules.stopsUnconfirmed, let end = confirmedUntil, now >= end else { return }
        confirmedUntil = nil
        for slot in slots.indices where slots[slot]?.tenure != nil {
            updateActing(slot, now, &effects)
            slots[slot]?.tenure?.provenAt = nil
            slots[slot]?.pending?.proves = false
            update(slot, now, &effects)
        }
    }

    /// A pulse came back: by then the broker had everything before it, and the gateway all that the broker had before.
    mutating func confirm(_ number: UInt64, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        guard let sent = pulse, sent.number == number, session != nil else { return }
        pulse = nil
        let end = sent.sentAt + terms.shortened(terms.confirmation) - terms.parting
        guard now < end else { return }
        let isFirst = confirmedUntil == nil
        confirmedUntil = end
        guard isFirst else { return }
        for slot in slots.indices where slots[slot]?.tenure != nil { update(slot, now, &effects) }
    }

    mutating func stop(_ now: Milliseconds, _ effects: inout LeaseEffects) {
        hasStopped = true
        for slot in slots.indices where slots[slot]?.tenure != nil { release(slot, to: nil, now, &effects) }
    }

    /// Sends the next pulse, reserves epochs, and sets the timer for both.
    mutating func tendLink(_ now: Milliseconds, _ effects: inout LeaseEffects) {
        // One that has not come back for so long never will: the broker has refused it, or doesn't let the gateway read
        // it. Its access rules may be corrected meanwhile.
        if let sent = pulse, now >= sent.sentAt + terms.lease { pulse = nil }
        if session != nil, pulse == nil, now >= pulseAt {
            pulses += 1
            pulse = Pulse(number: pulses, sentAt: now)
            pulseAt = now + terms.pulse
            effects.pulse = pulses
        }
        let needsStore = needsReservation
        if needsStore, !isStoring, now >= storeAt {
            isStoring = true
            effects.store = min(highestNumber + terms.reserve, Epoch.limit)
        }
        var next = needsStore && !isStoring ? storeAt : Milliseconds.max
        if session != nil, pulse == nil { next = min(next, pulseAt) }
        if let pulse { next = min(next, pulse.sentAt + terms.lease) }
        if let confirmedUntil, rules.stopsUnconfirmed { next = min(next, confirmedUntil) }
        guard next != .max, linkAlarm.map({ next < $0 || $0 <= now }) ?? true else { return }
        linkAlarm = next
        effects.alarms.append(.init(timer: .link, time: next))
    }

    // MARK: - The disk

    /// Half of a reservation is left when the next one is made, so a claim seldom waits for the disk.
    private var needsReservation: Bool {
        ceiling < Epoch.limit && ceiling < highestNumber + max(terms.reserve / 2, 1)
    }

    mutating func noteStored(_ number: UInt64, _ now: Milliseconds, _ effects: inout LeaseEffects) {
        isStoring = false
        ceiling = max(ceiling, min(number, Epoch.limit))
        for slot in slots.indices where slots[slot] != nil { update(slot, now, &effects) }
    }

    /// The epoch for a claim; `nil`: none is reserved.
    mutating func nextEpoch(_ slot: Int) -> Epoch? {
        let number = max(slots[slot]?.highest.number ?? 0, floor) + 1
        highestNumber = max(highestNumber, min(number, Epoch.limit))
        guard number <= Epoch.limit, number <= ceiling || !rules.storesBeforeClaiming else { return nil }
        return Epoch(number: number, gateway: gateway)
    }
}
