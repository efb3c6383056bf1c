import BLEProtocol
import BLERadio
import Synchronization

/// A connection to a peripheral, for as long as ``Peripheral/withLink(timeout:parameters:pairing:_:)`` runs.
///
/// A link ends when it is lost; to follow a device across lost links, use a ``Session``. A peripheral has one link at a
/// time, which its streams, sessions and queues share.
///
/// Operations are carried out one at a time, in the order of the calls; a cancelled one returns immediately and never
/// disturbs the next. ``exclusively(_:)`` keeps several together. When the link is lost, operations in progress and all
/// later ones throw ``BLEError/Code/disconnected`` with the reason.
public final class Link: Sendable {
    /// The peripheral at the other end.
    public let peripheral: Peripheral

    let bearer: Bearer
    let watchers: ServiceWatchers
    let conditionWatch: ConditionWatch
    let raiser: SecurityRaiser
    let lifetime: LinkLifetime

    /// The pairing answers of this handle, for operations that require a more secure link; `nil`: those of the
    /// peripheral, or the central.
    private let ownAnswers: PairingAnswers?

    /// Whether an operation of this handle that was refused has the link raised, if somebody answers.
    let raisesAfterRefusal: Bool

    /// The hold to which this handle belongs; `nil` if to none.
    let pass: LinkMachine.Pass?

    /// This handle's share in a link with several users; `nil` for the whole link.
    private let share: LinkShare?

    var timeline: any Timeline { peripheral.core.timeline }

    /// The peripheral's stored bonds when the link was made.
    let keptBonds: [Bond]

    /// The characteristics of which the peripheral has a part of a message.
    let sentParts: SentParts.Record

    /// The subscriptions that the peripheral may have kept from an earlier link.
    private let keptSubscriptions: [LinkMachine.KeptSubscription]

    /// - Parameter record: what is stored about the peripheral: no file is read here, on the radio's thread.
    init(peripheral: Peripheral, radioLink: any ATTLink, record: PeerRecord) {
        self.peripheral = peripheral
        keptBonds = record.bonds(with: peripheral.address)
        let raiser = SecurityRaiser(peripheral, keptBonds: keptBonds)
        let sentParts = peripheral.core.sentParts.begin(radioLink)
        self.sentParts = sentParts
        let (lifetime, watchers) = (LinkLifetime(), ServiceWatchers())
        let memory = DatabaseMemory(store: peripheral.core.store, peer: peripheral.address)
        self.watchers = watchers
        self.lifetime = lifetime
        let subscriptions = memory.keptSubscriptions(record)
        keptSubscriptions = subscriptions
        let mayKeep = !subscriptions.isEmpty || record.bonds?.isEmpty == false
        conditionWatch = ConditionWatch(radioLink, timeline: peripheral.core.timeline)
        self.raiser = raiser
        ownAnswers = nil
        raisesAfterRefusal = true
        pass = nil
        share = nil
        bearer = Bearer(
            radioLink,
            timeline: peripheral.core.timeline,
            database: .centralDefault,
            remembered: memory.recall(record),
            // The peripheral tells nothing to an adapter without a bond, such as one that has replaced another.
            tellsLater: keptBonds.contains { $0.adapter == radioLink.local },
            Bearer.Surroundings(
                securityFailed: { [store = peripheral.core.store] error in store.warn(error) },
                paired: { bond in peripheral.core.keep(bond, of: peripheral) },
                remember: { memory.take($0) },
                // A peer without a bond keeps nothing, so no file is opened for it. If it has paired on this link, its
                // values will reveal what it keeps.
                keep: { if mayKeep { memory.keep($0) } },
                servicesChanged: { watchers.tell($0) },
                demands: { [preferences = peripheral.core.preferences] in preferences.demands(on: peripheral.address) },
                closing: { [core = peripheral.core] in
                    // Abandoned because of the peer's behaviour: the next link must wait until this one is down.
                    guard lifetime.beginClosing() else { return }
                    core.states.set(.disconnecting, of: peripheral.address) { lifetime.end.hasEnded }
                },
                ended: { [parts = peripheral.core.sentParts] reason in
                    parts.ended(reason, sentParts)
                    watchers.end(reason)
                    raiser.linkEnded()
                    lifetime.end.end(reason)
                }
            )
        )
        raiser.begin(on: bearer)
    }

    /// The same link, as a handle of a hold.
    convenience init(_ link: Link, pass: LinkMachine.Pass) {
        self.init(link, pass: pass, share: link.share, answers: link.ownAnswers)
    }

    /// The same link, for one of several concurrent users.
    convenience init(_ link: Link, share: LinkShare) { self.init(link, pass: nil, share: share, answers: nil) }

    /// The same link and share, with other pairing answers.
    func answering(_ answers: PairingAnswers?) -> Link {
        answers.map { Link(self, pass: pass, share: share, answers: $0) } ?? self
    }

    /// The same link and share, whose refused operations have nothing raised.
    func withoutRaising() -> Link {
        Link(self, pass: pass, share: share, answers: ownAnswers, raisesAfterRefusal: false)
    }

    private init(
        _ link: Link,
        pass: LinkMachine.Pass?,
        share: LinkShare?,
        answers: PairingAnswers?,
        raisesAfterRefusal: Bool = true
    ) {
        peripheral = link.peripheral
        raiser = link.raiser
        ownAnswers = answers
        self.raisesAfterRefusal = raisesAfterRefusal
        keptBonds = link.keptBonds
        keptSubscriptions = link.keptSubscriptions
        sentParts = link.sentParts
        self.share = share
        bearer = link.bearer
        watchers = link.watchers
        conditionWatch = link.conditionWatch
        lifetime = link.lifetime
        self.pass = pass
    }

    /// The answers for an operation that requires a more secure link; `nil` if it fails.
    var answers: PairingAnswers? { whoAnswers() }

    /// The same for operations that outlive this handle: the answers set by then.
    var whoAnswers: @Sendable () -> PairingAnswers? {
        { [ownAnswers, preferences = peripheral.core.preferences, address = peripheral.address] in
            ownAnswers ?? preferences.answers(for: address)
        }
    }

    /// The maximum length of a PDU, in octets; a notification carries up to three less.
    public var mtu: Int { bearer.mtu }

    /// The present security of the link.
    public var security: LinkSecurity { bearer.radioLink.security }

    /// The number of PDUs that the kernel or radio dropped because the socket's queue was full; normally 0.
    ///
    /// If only one characteristic is subscribed to and no request is in progress, the dropped PDUs must have been its
    /// values: they are then also counted in the stream's ``BLEStream/counters``, and ``BLEStream/withGaps()`` shows
    /// the place. Otherwise nobody can tell whose they were, and only this counts them; but each subscription's
    /// ``BLEStream/assembled(until:maximumSize:)`` and ``BLEStream/bytes`` fail there with
    /// ``BLEError/Code/overflow``, since a chunk may be missing.
    public var droppedPDUs: Int { bearer.drops }

    /// The number of subscriptions that were made anew since the peripheral's services had changed: what it would have
    /// sent meanwhile is missing.
    package var movedSubscriptions: Int { bearer.moves }

    /// The number of PDUs of the peripheral that were ignored: unexpected responses, responses to another request than
    /// the one in progress, and malformed notifications; 0 if the peripheral complies with the Attribute Protocol.
    ///
    /// An operation never receives such a response: it continues to wait for its own. A ``TrafficCapture`` contains
    /// them all.
    public var ignoredPDUs: Int { bearer.ignored }

    /// The signal strength of the link in dBm.
    ///
    /// - Returns: `nil` if the radio can't measure it, or this user may not ask.
    /// - Throws: `CancellationError`; ``BLEError/Code/timedOut`` after five seconds without an answer.
    public func rssi() async throws -> Int? {
        let object = "of \(peripheral)"
        let limit: @Sendable () -> any Error = {
            BLEError.adapterTimedOut("signal strength", object: object, after: .seconds(5))
        }
        return try await reply(on: timeline, limit: (.seconds(5), limit)) { finish in
            self.bearer.radioLink.readRSSI { finish(.success($0.map(Int.init))) }
            return {}
        }
    }
}

// MARK: - The beginning and the end

extension Link {
    /// Starts the bearer, negotiates the MTU, and encrypts the link if there is a bond.
    ///
    /// - Parameters:
    ///   - keysNotRestored: the error if the bond's keys could not be loaded into the adapter.
    ///   - parameters: the parameters with which the link was made.
    func start(
        keysNotRestored: BLEError?,
        parameters: ConnectionParameters?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        let told = lifetime.told
        lifetime.end.whenEnded { [core = peripheral.core, peripheral, conditionWatch] reason in
            conditionWatch.end()
            core.connector.ended(peripheral)
            core.states.set(.disconnected(reason), of: peripheral.address)
            told.end()
        }
        bearer.start(raiser, kept: keptSubscriptions)
        conditionWatch.keep(parameters)
        let settled: @Sendable (Result<Void, BLEError>) -> Void = { [self] outcome in
            // Nobody gets a link that failed, so nobody else would close it.
            if case .failure = outcome, bearer.end == nil { beginClosing() }
            result(outcome)
        }
        // The MTU first: a link that ends because of a wrong key has then carried data, which avoids a bug of Linux
        // 6.1.
        negotiateMTU { outcome in
            guard case .success = outcome else { return settled(outcome) }
            self.protect(keysNotRestored: keysNotRestored, settled)
        }
    }

    private func negotiateMTU(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let exchange = { @Sendable [self] in begin(ExchangeMTU(), "exchange of the MTU", result) }
        guard bearer.radioLink.isResumed else { return exchange() }
        // The peer may still owe an earlier program an answer, which must not be taken for one to this program. That
        // program's MTU is not known: it is agreed on again, though the specification has a client ask once on a link.
        // With 23 most writes wouldn't fit, for as long as the link lasts.
        begin(SettleBearer(), "end of what an earlier program asked") { outcome in
            guard case .success = outcome else { return result(outcome) }
            exchange()
        }
    }

    private func begin(
        _ procedure: some GATTProcedure,
        _ name: String,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        let object = "to \(peripheral) (\(name))"
        let caller = OperationCallback { outcome in
            let words = { (failure: LinkFailure) in
                BLEError(failure, operation: "connect", object: object, target: object, security: .none)
            }
            result(outcome.map { _ in }.mapError(words))
        }
        bearer.begin(.aside(procedure), for: caller)
    }

    /// Whether its end is told, or about to be.
    var isDown: Bool { lifetime.end.hasEnded }

    /// Whether it has ended, or is being given up.
    var isEnding: Bool { lifetime.isClosed || bearer.end != nil }

    /// Calls the closure when the link is down, immediately if it is. The returned closure cancels that.
    @discardableResult
    func onEnd(_ action: @escaping @Sendable (DisconnectReason) -> Void) -> @Sendable () -> Void {
        lifetime.end.whenEnded(action)
    }

    /// Drops the link without waiting: it first unsubscribes, for at most two seconds. If the link has other users, it
    /// stays up for them.
    func beginClosing() {
        guard share?.leave(peripheral) ?? true else { return }
        guard lifetime.beginClosing() else { return }
        // It may end by itself at this moment.
        peripheral.core.states.set(.disconnecting, of: peripheral.address) { isDown }
        raiser.close()
        let timer = timeline.schedule(after: .seconds(2)) { [bearer] in bearer.close(DisconnectReason(.closedLocally)) }
        lifetime.end.whenEnded { _ in timer.cancel() }
        watchers.end(nil)
        bearer.unsubscribeAll { [bearer] in
            timer.cancel()
            bearer.close(DisconnectReason(.closedLocally))
        }
    }

    /// Drops a link whose caller no longer waits: it is up, and would stay so.
    static let giveUp: @Sendable (Link) -> Void = { $0.beginClosing() }

    /// Drops the link and waits until it is down, even on cancellation, for a bounded time. If the link has other
    /// users, it stays up for them, and this doesn't wait.
    func close() async {
        beginClosing()
        guard share?.leave(peripheral) ?? true else { return }
        await untilDown()
        await raiser.answersEnded()
        // A program may end right after this: what it has learned must be on the disk by then.
        if bearer.hasChangedMemory { await peripheral.core.store.flush(on: timeline) }
    }

    /// Waits until a link that is being dropped is down, even on cancellation, for five seconds at most.
    func untilDown() async {
        await undisturbedReply(on: timeline, limit: (.seconds(5), ())) { finish in
            lifetime.told.whenEnded { finish(()) }
        }
    }
}

extension BLEError {
    /// Whether a program's closure has failed with this because its own link has ended: it may also use other links,
    /// whose end says nothing about its own.
    ///
    /// - Parameter link: the closure's own link; `nil` if there is none any more.
    func tellsEnd(of link: Link?) -> Bool { endsLink && link?.isEnding != false }

    /// Whether a link has ended with it: it was lost, or a request was not answered, and this side had to close it.
    var endsLink: Bool { code == .disconnected || reason?.kind == .transactionTimeout }

    /// The error for a caller that asks for another link: the end of a link is final for that link only.
    var forNextLink: BLEError {
        var error = self
        if endsLink, reason != nil { error.isFinal = false }
        return error
    }
}

/// Whether a link is up, and the callbacks for its end.
final class LinkLifetime: Sendable {
    let end = Ending<DisconnectReason>()
    /// Ended once the board of connection states has been told of the end: the next link waits for that, and so does
    /// whoever waits until this one is down.
    let told = Ending<Void>()
    private let isClosing = Atomic(false)

    /// Whether somebody has requested to close the link, or it is down.
    var isClosed: Bool { isClosing.load(ordering: .acquiring) || end.hasEnded }

    /// Whether this is the first request to close a link that is still up.
    func beginClosing() -> Bool { !isClosing.exchange(true, ordering: .acquiringAndReleasing) && !end.hasEnded }
}
