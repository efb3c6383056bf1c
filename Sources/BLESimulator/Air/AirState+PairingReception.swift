internal import BLEProtocol
internal import BLERadio

/// The peripheral's side of a pairing, if its program answers.
struct SimulatedReception: Sendable {
    /// The peripheral's activity.
    let reception: ActivityID
    /// The address of the central's link.
    let address: BluetoothAddress
    let interview: PairingInterview
    /// The question to its program that awaits an answer.
    var question: PairingQuestion?
    /// The number that is shown, and what each side entered or accepted.
    var shown: UInt32?
    var central: PairingQuestion.Answer?
    var peripheral: PairingQuestion.Answer?
    /// Why the pairing failed, as the peripheral sees it.
    var failure: PairingFailure?
}

/// Pairings that the peripheral's program answers too.
extension AirState {
    mutating func receivePairings(
        _ reception: PairingReception,
        on adapter: AdapterID,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> ActivityID {
        let id = add(.receivePairings(reception, events), on: adapter)
        if let error = unavailable(adapter, for: "receive pairings") {
            fail(id, error)
        } else if !adapters[adapter].receptions.isEmpty {
            fail(id, .alreadyReceivingPairings(on: adapters[adapter].name))
        } else {
            adapters[adapter].receptions.append(id)
            outbox.append(.reception(id, .started))
        }
        return id
    }

    /// The reception that answers pairings on an adapter.
    func reception(on adapter: AdapterID) -> (id: ActivityID, reception: PairingReception)? {
        guard let id = adapters[adapter].receptions.first, let activity = activities[id], !activity.isEnding,
            case .receivePairings(let reception, _) = activity.kind
        else { return nil }
        return (id, reception)
    }

    /// Begins a pairing in which both programs get the questions of the specification's table.
    mutating func begin(
        _ id: ActivityID,
        _ end: LinkEndID,
        _ pairing: SimulatedPairing,
        _ receiver: (id: ActivityID, reception: PairingReception)
    ) {
        guard let adapter = activities[id]?.adapter, let other = addresses[pairing.peer], let link = links[end.link]
        else { return }
        let central = link[end.role.opposite].peer
        guard let interview = receiver.reception.interview?(central) else {
            return refuse(id, end, pairing, .refused)
        }
        let method = PairingMethod(
            initiator: pairing.interview.capability,
            responder: receiver.reception.capability,
            isSecureConnections: true
        )
        var far = SimulatedReception(reception: receiver.id, address: central, interview: interview)
        guard method != .justWorks else {
            // Anybody may claim the central's address.
            if adapters[other].keys[adapters[adapter].address]?.isAuthenticated == true {
                return refuse(id, end, pairing, .wouldWeakenBond)
            }
            return finish(id, end, pairing, pairing.failureOfJustWorks, isAuthenticated: false)
        }
        let number = UInt32(truncatingIfNeeded: timeline.randomBits() % 1_000_000)
        far.shown = method == .bothEnter ? nil : number
        let near: PairingQuestion
        switch method {
        case .justWorks: return
        case .comparison: (near, far.question) = (.comparison(number), .comparison(number))
        case .bothEnter: (near, far.question) = (.passkey, .passkey)
        case .initiatorEnters: (near, far.question) = (.passkey, .display(number, typed: 0))
        case .responderEnters: (near, far.question) = (.display(number, typed: 0), .passkey)
        }
        set(far, in: id)
        ask(near, in: id)
        if let question = far.question { outbox.append(.receptionAsks(receiver.id, id, interview, question)) }
        schedule(.pairing(id, end, .timeOut), at: now + Self.securityManagerTimeout)
    }

    private mutating func refuse(
        _ id: ActivityID,
        _ end: LinkEndID,
        _ pairing: SimulatedPairing,
        _ reason: PairingFailure
    ) {
        var pairing = pairing
        if let other = addresses[pairing.peer], let receiver = reception(on: other), let link = links[end.link] {
            let central = link[end.role.opposite].peer
            pairing.far = SimulatedReception(reception: receiver.id, address: central, interview: .justWorks)
            pairing.far?.failure = reason
        }
        finish(id, end, pairing, .refusedByPeripheral, isAuthenticated: false)
    }

    /// Tells the peripheral's program that a pairing that it takes part in is over before its end: the link is lost, or
    /// the central has given the pairing up. Its questions are withdrawn then.
    mutating func tellReception(ofEndOf pairing: SimulatedPairing) {
        guard let far = pairing.far else { return }
        let error = BLEError.pairingFailed(by: far.address, far.failure ?? .refusedByCentral)
        outbox.append(.reception(far.reception, .failed(far.address, error)))
    }

    private mutating func set(_ far: SimulatedReception, in id: ActivityID) {
        guard case .pair(var pairing) = activities[id]?.kind else { return }
        pairing.far = far
        activities[id]?.kind = .pair(pairing)
    }

    // MARK: - Answers

    /// Takes the answer of the central's program.
    mutating func answerAsCentral(
        _ answer: PairingQuestion.Answer,
        to question: PairingQuestion,
        in id: ActivityID,
        _ end: LinkEndID,
        _ link: LinkRecord
    ) {
        guard case .pair(var pairing) = activities[id]?.kind, var far = pairing.far else { return }
        if case .display = question {
            guard case .refuse = answer else { return }
        }
        pairing.question = nil
        far.central = answer
        pairing.far = far
        activities[id]?.kind = .pair(pairing)
        settle(id, end, link)
    }

    /// Takes the answer of the peripheral's program; later answers don't count.
    mutating func answerAsPeripheral(_ answer: PairingQuestion.Answer, in id: ActivityID) {
        guard let activity = activities[id], !activity.isEnding, case .pair(let pairing) = activity.kind,
            var far = pairing.far, let question = far.question,
            let end = link(of: activity.adapter, with: pairing.peer), let link = links[end.link]
        else { return }
        if case .display = question {
            guard case .refuse = answer else { return }
        }
        far.question = nil
        far.peripheral = answer
        set(far, in: id)
        settle(id, end, link)
    }

    /// Ends the pairing once both have answered, or one has refused.
    private mutating func settle(_ id: ActivityID, _ end: LinkEndID, _ link: LinkRecord) {
        guard case .pair(var pairing) = activities[id]?.kind, let verdict = pairing.verdict else { return }
        pairing.question = nil
        pairing.far?.question = nil
        pairing.far?.failure = verdict.ofPeripheral
        activities[id]?.kind = .pair(pairing)
        let time = now + link.timing.connectionInterval * Self.pairingEvents
        schedule(.pairing(id, end, .end(verdict.ofCentral)), at: time)
    }
}

extension SimulatedPairing {
    /// How the pairing ends for each side; `nil` while an answer is missing.
    fileprivate var verdict: (ofCentral: PairingFailure?, ofPeripheral: PairingFailure?)? {
        guard let far else { return nil }
        if case .refuse(let reason) = far.central { return (reason, .refusedByCentral) }
        if case .refuse(let reason) = far.peripheral { return (.refusedByPeripheral, reason) }
        if question?.isAwaited == true || far.question?.isAwaited == true { return nil }
        let entered = [far.central, far.peripheral].compactMap { answer -> UInt32? in
            if case .passkey(let passkey) = answer { passkey } else { nil }
        }
        let isRight = Set(entered + [far.shown].compactMap(\.self)).count <= 1 || entered.isEmpty
        return isRight ? (nil, nil) : (.wrongPasskey, .wrongPasskey)
    }
}

extension PairingQuestion {
    /// Whether the pairing waits for an answer to it.
    var isAwaited: Bool { if case .display = self { false } else { true } }
}

extension PairingFailure {
    /// How a peripheral sees a failure on its central's side.
    var seenByPeripheral: PairingFailure {
        switch self {
        case .wrongPasskey: .wrongPasskey
        case .wrongOutOfBandData: .wrongOutOfBandData
        case .refusedByPeripheral: .refused
        default: .refusedByCentral
        }
    }
}
