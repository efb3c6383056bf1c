import BLEProtocol
import BLERadio
import Synchronization

extension JoinedRadio: Radio {
    /// Scans on all of them; reports `failed` when none is left that can scan.
    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        let scan = JoinedScan(request, on: self, events)
        guard begin(scan) else {
            let error = BLEError.joinedScanIsUnderWay(adapterInfo.name)
            return timeline.schedule(after: .zero) { events(.failed(error)) }
        }
        let members = members
        guard !members.isEmpty else {
            end(scan)
            let error = BLEError.noneJoined(operation: "scan", object: adapterInfo.name)
            return timeline.schedule(after: .zero) { events(.failed(error)) }
        }
        for member in members { scan.begin(on: member) }
        return RadioActivity { scan.cancel() }
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, parameters: nil, result: result)
    }

    func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        guard begin(attemptTo: peer) else {
            let error = BLEError.joinedAttemptIsUnderWay(to: peer)
            return timeline.schedule(after: .zero) { result(.failure(error)) }
        }
        let attempt = JoinedConnect(to: peer, parameters, on: self, result)
        attempt.begin()
        return RadioActivity { attempt.cancel() }
    }

    func hasLink(to peer: BluetoothAddress) -> Bool { members.contains { $0.radio.hasLink(to: peer) } }

    var isLinked: Bool { members.contains { $0.radio.isLinked } }

    /// That of the first one that is on, if all that are on have one: otherwise another one connects.
    var connectObstacle: BLEError? { obstacle(\.connectObstacle) }

    /// That of the first one that is on, if all that are on have one: otherwise another one pairs.
    var pairingObstacle: BLEError? { obstacle(\.pairingObstacle) }

    private func obstacle(_ obstacle: (any Radio) -> BLEError?) -> BLEError? {
        let obstacles = members.filter { $0.radio.adapterInfo.state == .poweredOn }.map { obstacle($0.radio) }
        return obstacles.contains { $0 == nil } ? nil : obstacles.first ?? nil
    }

    /// Switches all that are present.
    func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        eachPresent(isOn ? "switch on" : "switch off", result) { $0.setPowered(isOn, result: $1) }
    }

    /// Switches all that are present off and on.
    func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        unattended { answer in
            eachPresent("switch off", answer) { radio, answer in
                radio.powerCycle(result: answer)
                return RadioActivity {}
            }
        } answer: {
            result($0)
        }
    }

    /// Resets all that are present.
    func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        eachPresent("reset", result) { $0.reset(result: $1) }
    }

    /// Calls back once all of them have settled.
    func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
        let radios = members.map(\.radio)
        guard !radios.isEmpty else { return timeline.schedule(after: .zero, done) }
        let last = Mutex(radios.count)
        let settled: @Sendable () -> Void = {
            let isLast = last.withLock { last in
                last -= 1
                return last == 0
            }
            if isLast { done() }
        }
        let activities = radios.map { $0.settle(settled) }
        return RadioActivity { for activity in activities { activity.cancel() } }
    }

    /// The members that are present; if none is, all of them, which then report that.
    var present: [Member] {
        let members = members
        let present = members.filter { $0.radio.adapterInfo.state != .absent }
        return present.isEmpty ? members : present
    }

    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        guard let (member, end) = beginListening() else {
            let error = BLEError.noneJoined(operation: "listen", object: adapterInfo.name)
            return timeline.schedule(after: .zero) { events(.failed(error)) }
        }
        let activity = member.radio.listen { event in
            if case .failed = event { end() }
            events(event)
        }
        return RadioActivity {
            end()
            activity.cancel()
        }
    }

    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        if let serving { return serving.radio.advertise(request, events: events) }
        let error = BLEError.noneJoined(operation: "advertise", object: adapterInfo.name)
        return timeline.schedule(after: .zero) { events(.failed(error)) }
    }

    /// Informs each of them, since any may make the link.
    func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
        for member in members { member.radio.expectPairing(with: peer, as: capability) }
    }

    /// Pairs through the adapter that has the link.
    func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        guard let member = holder(ofLinkTo: peer) ?? first else {
            let error = BLEError.noneJoined(operation: "pair", object: "with \(peer)")
            return timeline.schedule(after: .zero) { result(.failure(error)) }
        }
        return member.radio.pair(with: peer, asking: interview) { [weak self] outcome in
            if case .success(let bond?) = outcome { self?.choose { chooser, _ in chooser.paired(bond) } }
            result(outcome)
        }
    }

    /// Among the bonds with a peer that is known by these addresses, the one of the adapter that has or had the link to
    /// it; `nil` if none belongs to these adapters.
    func bond(among bonds: [Bond], with addresses: [BluetoothAddress]) -> Bond? {
        let holder = addresses.lazy.compactMap { self.holder(ofLinkTo: $0)?.id }.first
        return choose { chooser, _ in chooser.bond(among: bonds, with: addresses, linkedBy: holder) }
    }

    /// Answers on the adapter that listens.
    func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        if let serving { return serving.radio.receivePairings(reception, events: events) }
        let error = BLEError.noneJoined(operation: "receive pairings", object: adapterInfo.name)
        return timeline.schedule(after: .zero) { events(.ended(error)) }
    }

    /// Gives each member the bonds; a failure of one is reported only if a bond belongs to it.
    func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        choose { chooser, _ in chooser.restored(bonds) }
        let members = members
        let owners = members.map { member in
            choose { chooser, _ in bonds.contains { chooser.owns($0, member.id) } }
        }
        return together(members, "restore bonds") { member, answer in
            member.radio.restore(bonds, result: answer)
        } result: { outcomes in
            // Without members, the only outcome is the error.
            let owned = owners.isEmpty ? outcomes : zip(outcomes, owners).compactMap { $1 ? $0 : nil }
            result(owned.compactMap(\.failure).first.map { .failure($0) } ?? .success(()))
        }
    }

    /// Removes the peer from all of them. A failure is reported if that member has a bond with it and is present, or if
    /// all of them fail: the kernel has forgotten the keys of an adapter that is absent. If a member has removed its
    /// key but another program may keep its own, that is reported, and the peer is forgotten here all the same.
    func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        let (members, holders) = (members, choose { chooser, _ in chooser.holders(of: peer) })
        return together(members, "unpair") { member, answer in
            member.radio.unpair(peer, result: answer)
        } result: { [weak self] outcomes in
            let failures = outcomes.compactMap(\.failure)
            let decisive = zip(outcomes, members).lazy.compactMap { outcome, member -> BLEError? in
                let hasKeys = holders.contains(member.id) && member.radio.adapterInfo.state != .absent
                return hasKeys ? outcome.failure : nil
            }.first { !$0.hasRemovedKey }
            let hadKey = outcomes.contains { (try? $0.get()) == true }
            let isVain = failures.count == outcomes.count
            let failure = decisive ?? failures.first { $0.hasRemovedKey } ?? (isVain ? failures.first : nil)
            if let failure, !failure.hasRemovedKey { return result(.failure(failure)) }
            self?.choose { chooser, _ in chooser.unpaired(peer) }
            // Any adapter may connect to it from now on.
            self?.tellMemberWatchers()
            result(failure.map { .failure($0) } ?? .success(hadKey))
        }
    }

    /// Calls an action on all that are present; it fails if it fails for one of them.
    private func eachPresent(
        _ operation: String,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void,
        _ action: (any Radio, @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity
    ) -> RadioActivity {
        together(present, operation) { member, answer in
            action(member.radio, answer)
        } result: { outcomes in
            result(outcomes.compactMap(\.failure).first.map { .failure($0) } ?? .success(()))
        }
    }

    /// Asks several members the same, and reports their answers together, in order.
    func together<Value: Sendable>(
        _ members: [Member],
        _ operation: String,
        ask: (Member, @escaping @Sendable (Result<Value, BLEError>) -> Void) -> RadioActivity,
        result: @escaping @Sendable ([Result<Value, BLEError>]) -> Void
    ) -> RadioActivity {
        guard !members.isEmpty else {
            let error = BLEError.noneJoined(operation: operation, object: adapterInfo.name)
            return timeline.schedule(after: .zero) { result([.failure(error)]) }
        }
        let answers = JoinedAnswers(members.count, result)
        let activities = members.enumerated().map { place, member in ask(member) { answers.take($0, place) } }
        return RadioActivity { for activity in activities { activity.cancel() } }
    }
}

extension Result {
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

extension BLEError {
    /// No adapter has appeared yet.
    static func noneJoined(operation: String, object: String) -> BLEError {
        BLEError(
            .adapterNotFound,
            operation: operation,
            object: object,
            cause: "none of the adapters is present",
            remedy: "Plug one in."
        )
    }

    fileprivate static func joinedScanIsUnderWay(_ name: String) -> BLEError {
        BLEError(
            .busy,
            operation: "scan",
            object: name,
            cause: "a scan is already under way on these adapters",
            remedy: "Cancel it, or share its reports."
        )
    }

    fileprivate static func joinedAttemptIsUnderWay(to peer: BluetoothAddress) -> BLEError {
        BLEError(
            .busy,
            operation: "connect",
            object: "\(peer)",
            cause: "this program is already connected or connecting to the peer through one of the joined adapters",
            remedy: "Use that link, or close it first."
        )
    }
}
