internal import BLEProtocol
internal import BLERadio

/// A pairing that one end of a link has begun, usually the central.
struct SimulatedPairing: Sendable {
    let peer: BluetoothAddress
    let interview: PairingInterview
    /// The level that the new keys must provide if they replace existing ones.
    var level: LinkSecurity.Level?
    let result: @Sendable (Result<Bond?, BLEError>) -> Void
    /// The question to the central that awaits its answer.
    var question: PairingQuestion?
    /// The peripheral's side, if its program answers.
    var far: SimulatedReception?
    /// The steps that were due while nothing arrived on the link, in their order.
    var postponed: [PairingStep] = []
}

/// The next step of a pairing, unless something else happens first.
enum PairingStep: Sendable {
    /// The peer gets the pairing request.
    case begin
    /// The user of the peer has typed this many digits of the passkey that the central shows.
    case typed(Int)
    /// Both sides have what they need; it matches or doesn't.
    case end(PairingFailure?)
    /// The Security Manager's timeout has passed.
    case timeOut
}

/// Pairing as a program sees it: what is asked, in what order, and how long it takes. Nothing is encrypted.
extension AirState {
    /// How many connection events the messages of a pairing take.
    static let pairingEvents = 8
    /// Source: Core Specification, Vol 3, Part H, 3.4.
    static let securityManagerTimeout = Duration.seconds(30)
    /// How long a person takes to type a digit.
    private static let typing = Duration.milliseconds(500)

    mutating func startPairing(
        with peer: BluetoothAddress,
        on adapter: AdapterID,
        asking interview: PairingInterview,
        anewFor level: LinkSecurity.Level? = nil,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> ActivityID {
        let pairing = SimulatedPairing(peer: peer, interview: interview, level: level, result: result)
        let id = add(.pair(pairing), on: adapter)
        if let error = unavailable(adapter, for: "pair", to: peer) {
            fail(id, error)
        } else if let end = link(of: adapter, with: peer), let link = links[end.link] {
            adapters[adapter].pairings.append(id)
            schedule(.pairing(id, end, .begin), at: now + link.timing.connectionInterval * Self.pairingEvents)
        } else {
            fail(id, .notConnected("pair", peer))
        }
        return id
    }

    mutating func runPairing(_ id: ActivityID, _ end: LinkEndID, _ step: PairingStep) {
        guard let activity = activities[id], !activity.isEnding, case .pair(var pairing) = activity.kind else { return }
        guard let link = links[end.link], !link[end.role].isOver else {
            return fail(id, .notConnected("pair", pairing.peer))
        }
        if !link.carries, step.needsLink {
            pairing.postponed.append(step)
            activities[id]?.kind = .pair(pairing)
            return
        }
        switch step {
        case .begin: begin(id, end, pairing)
        case .typed(let count): typed(count, id, end, pairing)
        case .end(let failure): finish(id, end, pairing, failure, isAuthenticated: true)
        case .timeOut: timeOut(id, end, pairing)
        }
    }

    /// Takes the answer of the central's program; later answers don't count.
    mutating func answer(_ answer: PairingQuestion.Answer, in id: ActivityID) {
        guard let activity = activities[id], !activity.isEnding, case .pair(var pairing) = activity.kind,
            let question = pairing.question, let other = addresses[pairing.peer],
            let end = link(of: activity.adapter, with: pairing.peer), let link = links[end.link]
        else { return }
        if pairing.far != nil { return answerAsCentral(answer, to: question, in: id, end, link) }
        let manner = adapters[other].settings.pairing
        let failure: PairingFailure?
        switch (question, answer, manner) {
        case (_, .refuse(let reason), _): failure = reason
        case (.passkey, .passkey(let passkey), .showsPasskey(let shown)):
            failure = passkey == shown ? nil : .wrongPasskey
        case (.comparison, .accept, .comparesNumbers(let agrees)): failure = agrees ? nil : .refusedByPeripheral
        case (.display, _, _): return
        default: failure = .refused
        }
        pairing.question = nil
        activities[id]?.kind = .pair(pairing)
        schedule(.pairing(id, end, .end(failure)), at: now + link.timing.connectionInterval * Self.pairingEvents)
    }

    /// Ends the pairings that one end of a link has begun, for which the link is over.
    mutating func endPairings(of link: LinkRecord, begunAt role: LinkRole, _ reason: DisconnectReason) {
        for (id, former) in pairings(of: link, begunAt: role) {
            var pairing = former
            if case .ended(let end) = link[role.opposite].phase, end.kind == .closedLocally,
                pairing.far?.failure == nil
            {
                pairing.far?.failure = .timedOut
                activities[id]?.kind = .pair(pairing)
            }
            fail(id, .endedWhilePairing(with: pairing.peer, reason))
        }
    }

    /// Goes on with the pairings of a link that is no longer silent.
    mutating func resumePairings(of link: LinkRecord) {
        for role in LinkRole.allCases {
            for (id, former) in pairings(of: link, begunAt: role) {
                var pairing = former
                pairing.postponed = []
                activities[id]?.kind = .pair(pairing)
                let (end, time) = (LinkEndID(link: link.id, role: role), now + link.timing.connectionInterval)
                for step in former.postponed { schedule(.pairing(id, end, step), at: time) }
            }
        }
    }

    /// The pairings that an end of a link has begun, whatever address of the other one they name.
    private func pairings(of link: LinkRecord, begunAt role: LinkRole) -> [(ActivityID, SimulatedPairing)] {
        adapters[link[role].adapter].pairings.compactMap { id -> (ActivityID, SimulatedPairing)? in
            guard case .pair(let pairing)? = activities[id]?.kind,
                addresses[pairing.peer] == link[role.opposite].adapter
            else { return nil }
            return (id, pairing)
        }
    }

    // MARK: - Steps

    private mutating func begin(_ id: ActivityID, _ end: LinkEndID, _ pairing: SimulatedPairing) {
        guard let other = addresses[pairing.peer], let adapter = activities[id]?.adapter else { return }
        guard pairing.level != nil || adapters[adapter].keys[adapters[other].address] == nil else {
            // As on Linux: an existing key is not checked.
            stop(id)
            activities[id]?.isEnding = true
            return outbox.append(.paired(id, .success(nil)))
        }
        let settings = adapters[other].settings
        guard settings.acceptsPairing else {
            return finish(id, end, pairing, .refusedByPeripheral, isAuthenticated: false)
        }
        if let fits = outOfBandOutcome(pairing, of: adapter, with: other) {
            return finish(id, end, pairing, fits ? nil : .wrongOutOfBandData, isAuthenticated: true)
        }
        guard let wanted = settings.pairing.method else {
            if let reception = reception(on: other) { return begin(id, end, pairing, reception) }
            let failure = pairing.failureOfJustWorks
            return finish(id, end, pairing, failure, isAuthenticated: false)
        }
        let method = PairingMethod(
            initiator: pairing.interview.capability,
            responder: settings.pairing.capability,
            isSecureConnections: true
        )
        guard method == wanted else { return finish(id, end, pairing, .needsAnswers, isAuthenticated: false) }
        let number = UInt32(truncatingIfNeeded: timeline.randomBits() % 1_000_000)
        switch method {
        case .initiatorEnters: ask(.passkey, in: id)
        case .comparison: ask(.comparison(number), in: id)
        default:
            ask(.display(number, typed: 0), in: id)
            return schedule(.pairing(id, end, .typed(1)), at: now + Self.typing)
        }
        schedule(.pairing(id, end, .timeOut), at: now + Self.securityManagerTimeout)
    }

    mutating func ask(_ question: PairingQuestion, in id: ActivityID) {
        guard case .pair(var pairing) = activities[id]?.kind else { return }
        pairing.question = question
        activities[id]?.kind = .pair(pairing)
        outbox.append(.pairingAsks(id, question))
    }

    private mutating func typed(_ count: Int, _ id: ActivityID, _ end: LinkEndID, _ pairing: SimulatedPairing) {
        guard case .display(let passkey, _) = pairing.question, let other = addresses[pairing.peer] else { return }
        ask(.display(passkey, typed: count), in: id)
        guard count == 6 else {
            return schedule(.pairing(id, end, .typed(count + 1)), at: now + Self.typing)
        }
        var isRight = false
        if case .entersPasskey(correctly: true) = adapters[other].settings.pairing { isRight = true }
        schedule(.pairing(id, end, .end(isRight ? nil : .wrongPasskey)), at: now + Self.typing)
    }

    /// Somebody has not answered for too long: as on Linux, the link is dropped, since nothing more may be paired on it.
    private mutating func timeOut(_ id: ActivityID, _ end: LinkEndID, _ pairing: SimulatedPairing) {
        guard pairing.question != nil || pairing.far?.question != nil else { return }
        var pairing = pairing
        let isFarUnanswered = pairing.far?.question?.isAwaited == true
        pairing.far?.failure = isFarUnanswered ? .unanswered : .timedOut
        let isUnanswered = pairing.question?.isAwaited == true
        finish(id, end, pairing, isUnanswered ? .unanswered : .timedOut, isAuthenticated: true)
        disconnect(end)
    }

    mutating func finish(
        _ id: ActivityID,
        _ end: LinkEndID,
        _ pairing: SimulatedPairing,
        _ failure: PairingFailure?,
        isAuthenticated: Bool
    ) {
        guard let activity = stop(id), let link = links[end.link], let other = addresses[pairing.peer] else { return }
        activities[id]?.isEnding = true
        // The link's: a central may have changed its private address since.
        let address = link[end.role.opposite].peer
        let reception = pairing.far?.reception ?? self.reception(on: other)?.id
        if let failure {
            let ofPeripheral = pairing.far?.failure ?? failure.seenByPeripheral
            let told = BLEError.pairingFailed(by: address, ofPeripheral)
            if let reception { outbox.append(.reception(reception, .failed(address, told))) }
            link[end.role.opposite].encryptionFailures.append(.pairingFailed(as: failure, by: address))
            queueDelivery(to: end.role.opposite, of: link)
            return outbox.append(.paired(id, .failure(.pairingFailed(with: pairing.peer, failure))))
        }
        let key = SimulatedKey(timeline.randomBits(), isAuthenticated: isAuthenticated)
        let (near, far) = bonds(activity.adapter, other, key)
        if let reception { outbox.append(.reception(reception, .paired(address, far))) }
        set(isAuthenticated ? .authenticated : .justWorks, of: link)
        outbox.append(.paired(id, .success(near)))
    }

    /// Makes two adapters know each other, also behind private addresses. Returns the bonds of both.
    private mutating func bonds(_ one: AdapterID, _ other: AdapterID, _ key: SimulatedKey) -> (Bond, Bond) {
        func bond(of adapter: AdapterID, with peer: AdapterID) -> Bond {
            let identity = adapters[peer].address
            adapters[adapter].keys[identity] = key
            adapters[adapter].identityKeys[identity] = adapters[peer].hiding?.key
            return Bond(
                peer: identity,
                adapter: adapters[adapter].address,
                encryptionKeys: [key.encryptionKey],
                identityKey: adapters[peer].hiding?.key
            )
        }
        return (bond(of: one, with: other), bond(of: other, with: one))
    }
}

extension PairingStep {
    /// Whether it takes messages over the air, which wait while nothing arrives on the link.
    fileprivate var needsLink: Bool { if case .timeOut = self { false } else { true } }
}

extension SimulatedPairing {
    /// Why Just Works is not enough; `nil` if it is.
    var failureOfJustWorks: PairingFailure? {
        guard let level, level > .encrypted else { return nil }
        return interview.capability == .noInputNoOutput ? .needsAnswers : .refusedByPeripheral
    }
}
