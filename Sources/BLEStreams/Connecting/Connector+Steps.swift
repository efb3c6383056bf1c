import BLEProtocol
import BLERadio
import Synchronization

/// Carries out the outputs of a ``ConnectMachine``.
extension Connector {
    /// Carries out one output, in the order of its declarations.
    func perform(_ errand: Errand) {
        let (number, output) = (errand.number, errand.output)
        guard let entry = state.withLock({ $0.entries[number] }) else { return }
        let core = entry.peripheral.core
        if output.tries { watchHearing(number, core, entry.peripheral.address) }
        if output.stops || output.begins != nil { endStep(number, isUndone: output.stops) }
        if output.leavesTurn { take(number, \.leaveTurn)?() }
        if let alarm = output.alarm { set(alarm, number) }
        if let isLinked = output.ends { endHearing(number, isLinked) }
        if let state = output.tells {
            if state == .connected { catchUp(entry, errand.answers.first?.asker) }
            tell(state, of: entry, number)
        }
        answer(errand)
        if let begin = output.begins { self.begin(begin.step, begin.number, number, entry) }
    }

    /// A link that has just settled may have ended meanwhile. An attempt beside a link doesn't change how the
    /// peripheral is connected.
    private func tell(_ state: Peripheral.ConnectionState, of entry: Entry, _ number: Int) {
        let link = state == .connected ? entry.link : nil
        if link == nil, hasLink(to: entry.peripheral.address, besides: number) { return }
        entry.peripheral.core.states.set(state, of: entry.peripheral.address) { link?.isDown ?? false }
    }

    /// Whether a peripheral has a link that was made by another of its addresses, before a bond revealed whose that is.
    private func hasLink(to address: BluetoothAddress, besides number: Int) -> Bool {
        guard identities.mayHaveOthers(address) else { return false }
        return state.withLock { state in
            state.entries.contains { other, entry in
                other != number && entry.link?.isDown == false
                    && identities.areOfOne(entry.peripheral.address, address)
            }
        }
    }

    /// Changes a link for which the radio was asked with other parameters: the program has set other preferences since,
    /// or who wanted them has left. Nobody else would. What a radio's default is, it alone knows: a link can't be
    /// changed to that.
    ///
    /// - Parameter first: the first of those who get the link.
    private func catchUp(_ entry: Entry, _ first: Asker?) {
        guard let link = entry.link, let wanted = entry.wanted(by: first), wanted != entry.parameters
        else { return }
        link.change(to: wanted)
    }

    /// Changes what remains to be undone for a peripheral.
    func update(_ number: Int, _ body: (inout Running) -> Void) {
        state.withLock { state in
            guard var running = state.entries[number]?.running else { return }
            body(&running)
            state.entries[number]?.running = running
        }
    }

    private func take<Value: Sendable>(_ number: Int, _ part: WritableKeyPath<Running, Value?>) -> Value? {
        state.withLock { $0.entries[number]?.running[keyPath: part].take() }
    }

    private func endStep(_ number: Int, isUndone: Bool) {
        take(number, \.limit)?.cancel()
        let undo = take(number, \.undo)
        if isUndone { undo?() }
    }

    private func set(_ alarm: ConnectMachine.Output.Alarm, _ number: Int) {
        take(number, \.alarm)?.cancel()
        guard case .set(let deadline) = alarm else { return }
        let timer = timeline.schedule(after: max(.zero, deadline - timeline.now)) { [weak self, timeline] in
            self?.change(number) { $0.alarmRang(now: timeline.now, &$1) }
            self?.announceAnew(number)
        }
        update(number) { $0.alarm = timer }
    }

    /// Watches whether the adapter receives anything, until the end.
    private func watchHearing(_ number: Int, _ core: CentralCore, _ address: BluetoothAddress) {
        let attempt = RecoveryDriver.Attempt(
            pause: { [weak self] in self?.change(number) { $0.pause(&$1) } },
            resume: { [weak self] in self?.change(number) { $0.resume(&$1) } }
        )
        let end = core.began(attempt, to: address)
        update(number) { $0.end = end }
    }

    private func endHearing(_ number: Int, _ isLinked: Bool) {
        guard let unlinked = take(number, \.end)?(isLinked), isLinked else { return }
        let link = state.withLock { $0.entries[number]?.link }
        if let link { link.onEnd { _ in unlinked() } } else { unlinked() }
    }

    private func answer(_ errand: Errand) {
        tellEvents(errand)
        for (asker, outcome) in errand.answers {
            switch outcome {
            case .linked:
                guard let link = state.withLock({ $0.entries[errand.number]?.link }) else { continue }
                asker.answer(.success(Link(link, share: LinkShare(errand.number))))
            case .timedOut(let step, let failures):
                asker.answer(.failure(timedOut(asker, in: step, failures: failures, errand)))
            case .failed:
                guard var error = errand.failure else { continue }
                error.elapsed = timeline.now - asker.begin
                if error.saysThatSlotsAreTaken(hasLinks: hasLinks), isBehindLine(asker) {
                    error.remedy += " " + BLEError.howToGetAwaitedSlot
                }
                asker.answer(.failure(error))
            }
        }
    }

    /// Whether a caller doesn't line up, and a session gets the next slot: to close a link is no help.
    private func isBehindLine(_ asker: Asker) -> Bool {
        guard !asker.isSession else { return false }
        let core = asker.peripheral.core
        return core.slots.isAwaited(on: core.slotAdapters(for: asker.peripheral.address))
    }

    /// Reports the outcomes to the handlers of events before the callers get them; each link once.
    private func tellEvents(_ errand: Errand) {
        guard let (first, outcome) = errand.answers.first, let events = first.peripheral.core.events else { return }
        if outcome == .linked {
            // By the link's address, as its end is told; the caller may know another one.
            let link = state.withLock { $0.entries[errand.number]?.link }
            let address = link?.bearer.peripheral ?? first.peripheral.address
            return events.linkIsReady(to: address, after: timeline.now - first.begin)
        }
        for (asker, outcome) in errand.answers {
            let (address, after) = (asker.peripheral.address, timeline.now - asker.begin)
            switch outcome {
            case .linked: break
            case .timedOut(let step, let failures):
                let error = timedOut(asker, in: step, failures: failures, errand)
                events.tell(.connectFailed(error, after: after), of: address)
            case .failed:
                if let failure = errand.failure { events.tell(.connectFailed(failure, after: after), of: address) }
            }
        }
    }

    /// The error of a caller whose time has expired, by what kept the link from it last.
    private func timedOut(
        _ asker: Asker,
        in step: ConnectMachine.Step?,
        failures: Int,
        _ errand: Errand
    ) -> BLEError {
        let (peripheral, limit) = (asker.peripheral, asker.limit)
        switch step {
        case .waitUntilDown?: return .formerLinkStays(peripheral, after: limit)
        // What keeps them all from connecting is why those before it don't make room.
        case .lineUp? where !errand.wasTried && peripheral.core.radio.connectObstacle == nil:
            return .othersConnect(peripheral, after: limit)
        case .settle?:
            // Behind links that were never established, this one may not be either.
            let link = state.withLock { $0.entries[errand.number]?.link }
            if failures == 0 || link?.bearer.hasReceived == true { return .linkNotReady(peripheral, after: limit) }
        default: break
        }
        let refusers = errand.wasTried ? peripheral.core.slotRefusers(of: peripheral.address) : []
        let isBehindLine = !refusers.isEmpty && isBehindLine(asker)
        return .connectTimedOut(
            peripheral,
            after: limit,
            failures: failures,
            refusedBy: refusers,
            isBehindLine: isBehindLine
        )
    }

    // MARK: - Steps

    private func begin(_ step: ConnectMachine.Step, _ id: Int, _ number: Int, _ entry: Entry) {
        let core = entry.peripheral.core
        switch step {
        case .waitUntilDown:
            whenFormerLinksAreDown(number, entry.peripheral) { self.change(number) { $0.isDown(id, &$1) } }
        case .recall: recall(id, number, entry)
        case .restoreKeys: restoreKeys(id, number, entry)
        case .lineUp:
            let leave = turns.enter(
                grant: { self.change(number) { $0.granted(id, &$1) } },
                revoke: { self.change(number) { $0.revoked(id, &$1) } }
            )
            update(number) { $0.leaveTurn = leave }
        case .listen(let addresses, let limit):
            setLimit(limit, id, number)
            listen(for: addresses, id, number, core)
        case .connect(let address, let limit):
            if let limit { setLimit(limit, id, number) }
            requestLink(to: address, id, number, entry)
        case .settle(let address): settle(with: address, id, number, entry)
        case .waitForEnd:
            let undo = entry.link?.lifetime.told.whenEnded { self.change(number) { $0.linkIsDown(id, &$1) } }
            update(number) { $0.undo = undo }
        case .pause(let duration), .rest(let duration): setLimit(duration, id, number)
        case .waitForAdapter:
            let activity = core.whenAdapterIsOn(for: entry.peripheral.address) { [timeline] in
                self.change(number) { $0.adapterReturned(id, now: timeline.now, &$1) }
            }
            update(number) { $0.undo = { activity.cancel() } }
        }
    }

    private func setLimit(_ duration: Duration, _ id: Int, _ number: Int) {
        let timer = timeline.schedule(after: duration) { self.change(number) { $0.limitPassed(id, &$1) } }
        update(number) { $0.limit = timer }
    }

    private func recall(_ id: Int, _ number: Int, _ entry: Entry) {
        let (core, addresses) = (entry.peripheral.core, entry.machine.addresses)
        core.store.perform(on: timeline) {
            var records: [BluetoothAddress: PeerRecord] = [:]
            var identities: [BluetoothAddress: BluetoothAddress] = [:]
            var isBonded = false
            for address in addresses {
                let identity = core.identity(of: address)
                let record = core.store.record(of: identity)
                (records[address], records[identity]) = (record, record)
                let bonds = record.bonds(with: identity)
                if !bonds.isEmpty { isBonded = true }
                // The link goes by the identity, whichever address it is named by.
                for bond in bonds where core.mayReveal(bond) {
                    if address != identity { identities[address] = identity }
                    core.identities.add(bond)
                }
            }
            let hasLink = core.radio.hasLink(to: entry.peripheral.address)
            self.state.withLock { [records] in $0.entries[number]?.records = records }
            self.change(number) { [identities, isBonded] machine, output in
                machine.recalled(id, identities: identities, isBonded: isBonded, hasLink: hasLink, &output)
            }
        }
    }

    private func restoreKeys(_ id: Int, _ number: Int, _ entry: Entry) {
        let core = entry.peripheral.core
        let undo = core.restoreAllBonds { error in
            self.state.withLock { $0.entries[number]?.keysNotRestored = error }
            self.change(number) { $0.keysRestored(id, hasKeys: error == nil, &$1) }
        }
        update(number) { $0.undo = undo }
    }

    private func listen(for addresses: [BluetoothAddress], _ id: Int, _ number: Int, _ core: CentralCore) {
        let wanted = Set(addresses)
        let stop = core.scans.add(
            ScanBroker.Options(services: [], isActive: true, reportsDuplicates: false),
            take: { reports in
                guard let heard = reports.first(where: { wanted.contains($0.address) }) else { return }
                self.change(number) { $0.heard(id, heard.address, &$1) }
            },
            lost: { _ in },
            // For example without the permission to scan.
            fail: { _ in self.change(number) { $0.listened(id, &$1) } }
        )
        update(number) { $0.undo = stop }
    }

    // MARK: - The link

    func connected(
        _ outcome: Result<any ATTLink, BLEError>,
        _ id: Int,
        _ number: Int,
        _ core: CentralCore
    ) {
        switch outcome {
        case .failure(let error): failed(error, id, number, core)
        case .success(let radioLink):
            let isWanted = state.withLock { state in
                var isWanted = false
                state.change(number) { isWanted = $0.connected(id, &$1) }
                if isWanted { state.entries[number]?.radioLink = radioLink }
                return isWanted
            }
            // Too late: no caller waits any longer, or this kind's turn has ended.
            if !isWanted { radioLink.disconnect() }
            carryOut()
        }
    }

    /// Negotiates the MTU, and encrypts the link if there is a bond.
    private func settle(with address: BluetoothAddress, _ id: Int, _ number: Int, _ entry: Entry) {
        let core = entry.peripheral.core
        guard let radioLink = entry.radioLink else { return }
        let link = Link(
            peripheral: Peripheral(core: core, address: address),
            radioLink: radioLink,
            record: entry.records[address] ?? PeerRecord()
        )
        state.withLock { state in
            state.entries[number]?.link = link
            state.entries[number]?.radioLink = nil
            state.entries[number]?.running.undo = { link.beginClosing() }
        }
        let (peer, adapter) = (entry.key, core.joined?.holder(ofLinkTo: address)?.id ?? 0)
        core.slots.linked(to: peer, by: adapter)
        link.lifetime.told.whenEnded {
            self.linkIsOver(number)
            core.slots.unlinked(from: peer, by: adapter)
        }
        link.start(keysNotRestored: entry.keysNotRestored, parameters: entry.parameters) { outcome in
            switch outcome {
            case .success: self.change(number) { $0.settled(id, &$1) }
            case .failure(let error): self.failed(error, id, number, core, link)
            }
        }
    }

    /// - Parameter link: the link that has ended, if there was one.
    private func failed(_ error: BLEError, _ id: Int, _ number: Int, _ core: CentralCore, _ link: Link? = nil) {
        guard let peer = state.withLock({ $0.entries[number]?.peripheral.address }) else { return }
        let pace = ConnectPace.Failure(
            error,
            wasHeard: link?.bearer.hasReceived ?? false,
            wasResumed: link?.bearer.radioLink.isResumed ?? false
        )
        let failure = ConnectMachine.Failure(
            pace: pace,
            isOfAdapter: core.isOfAdapter(error, connectingTo: peer),
            reason: error.reason
        )
        let (random, now) = (timeline.randomBits(), timeline.now)
        state.withLock { state in
            guard state.entries[number]?.machine.number == id else { return }
            state.entries[number]?.failure = error
            state.change(number) { $0.failed(id, failure, random: random, now: now, &$1) }
        }
        carryOut()
    }
}
