import BLEProtocol
import BLERadio
import Synchronization

/// A connection to a peripheral, for as long as ``Peripheral/withLink(timeout:parameters:pairing:_:)`` runs.
///
/// A peripheral has one link at a time: all who want one at the same time, streams, sessions, queues, share it.
///
/// Operations are carried out one after the other, in the order in which they were called; a cancelled one returns at
/// once and never disturbs the next. Those that belong together stay together in ``exclusively(_:)``. When the link is
/// lost everything under way, and everything called later, throws ``BLEError/Code/disconnected`` with the reason.
public final class Link: Sendable {
    /// The peripheral at the other end.
    public let peripheral: Peripheral

    let bearer: Bearer
    let watchers: ServiceWatchers
    let conditionWatch: ConditionWatch
    let raiser: SecurityRaiser
    private let lifetime: LinkLifetime

    /// Who answers for this handle when an operation is refused on a link that isn't secure enough; `nil`: as it was said for
    /// the peripheral, or the central.
    private let ownAnswers: PairingAnswers?

    /// In whose name this handle asks; `nil`: nobody's.
    let pass: LinkMachine.Pass?

    /// The part that this handle has in a link that several may use; `nil`: all.
    private let share: LinkShare?

    var timeline: any Timeline { peripheral.core.timeline }

    /// The bonds that were kept of the peripheral when the link was made.
    let keptBonds: [Bond]

    /// What it may have been subscribed to since an earlier link.
    private let keptSubscriptions: [LinkMachine.KeptSubscription]

    /// - Parameter record: what was kept of the peripheral: no file is read here, on the radio's thread.
    init(peripheral: Peripheral, radioLink: any ATTLink, record: PeerRecord) {
        self.peripheral = peripheral
        keptBonds = record.bonds(with: peripheral.address)
        let raiser = SecurityRaiser(peripheral, keptBonds: keptBonds)
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
        pass = nil
        share = nil
        bearer = Bearer(
            radioLink,
            timeline: peripheral.core.timeline,
            database: .centralDefault,
            remembered: memory.recall(record),
            tellsLater: !keptBonds.isEmpty,
            Bearer.Surroundings(
                securityFailed: { [store = peripheral.core.store] error in store.warn(error) },
                remember: { memory.take($0) },
                // A peer without a bond keeps nothing, and no file is opened for it. What one keeps that has paired on this
                // very link tells of itself by its values.
                keep: { if mayKeep { memory.keep($0) } },
                servicesChanged: { watchers.tell($0) },
                demands: { [preferences = peripheral.core.preferences] in preferences.demands(on: peripheral.address) },
                closing: { [core = peripheral.core] in
                    // Given up for what the peer did, or didn't: whoever wants the next link waits until this one is down.
                    if lifetime.beginClosing() { core.states.set(.disconnecting, of: peripheral.address) }
                },
                ended: { reason in
                    watchers.end(reason)
                    raiser.linkEnded()
                    lifetime.end.end(reason)
                }
            )
        )
        raiser.begin(on: bearer)
    }

    /// The same link, in the name of a hold.
    convenience init(_ link: Link, pass: LinkMachine.Pass) {
        self.init(link, pass: pass, share: link.share, answers: link.ownAnswers)
    }

    /// The same link, for one of those who use it at the same time.
    convenience init(_ link: Link, share: LinkShare) { self.init(link, pass: nil, share: share, answers: nil) }

    /// The same link, with somebody else who answers; it has the same part in it.
    func answering(_ answers: PairingAnswers?) -> Link {
        answers.map { Link(self, pass: pass, share: share, answers: $0) } ?? self
    }

    private init(_ link: Link, pass: LinkMachine.Pass?, share: LinkShare?, answers: PairingAnswers?) {
        peripheral = link.peripheral
        raiser = link.raiser
        ownAnswers = answers
        keptBonds = link.keptBonds
        keptSubscriptions = link.keptSubscriptions
        self.share = share
        bearer = link.bearer
        watchers = link.watchers
        conditionWatch = link.conditionWatch
        lifetime = link.lifetime
        self.pass = pass
    }

    /// Who answers when an operation is refused on a link that isn't secure enough; `nil`: it fails.
    var answers: PairingAnswers? { whoAnswers() }

    /// The same for what lasts longer than this handle: as it is said by then.
    var whoAnswers: @Sendable () -> PairingAnswers? {
        { [ownAnswers, preferences = peripheral.core.preferences, address = peripheral.address] in
            ownAnswers ?? preferences.answers(for: address)
        }
    }

    /// The largest PDU that is sent or expected, in octets; one notification carries three less.
    public var mtu: Int { bearer.mtu }

    /// How the link is secured now.
    public var security: LinkSecurity { bearer.radioLink.security }

    /// PDUs that the kernel or radio dropped because the queue of the socket was full; normally 0.
    ///
    /// What is missing is a stream's for certain where it is the only one that is subscribed to and no request is under
    /// way: it is then counted there as well, in ``BLEStream/counters``, and ``BLEStream/withGaps()`` shows where.
    public var droppedPDUs: Int { bearer.drops }

    /// PDUs of the peripheral that belonged to nothing and were ignored: responses that nobody waited for, or to another
    /// request than the one under way, and notifications that can't be read; 0 with a peripheral that keeps to the
    /// Attribute Protocol.
    ///
    /// An operation is never given such a response: it goes on waiting for its own. A ``TrafficCapture`` has them all.
    public var ignoredPDUs: Int { bearer.ignored }

    /// The signal strength of the link in dBm.
    ///
    /// - Returns: `nil` where the radio can't tell, or doesn't let this user ask.
    /// - Throws: `CancellationError`; ``BLEError/Code/timedOut`` after five seconds without an answer.
    public func rssi() async throws -> Int? {
        let object = "of \(peripheral)"
        let limit: @Sendable () -> any Error = {
            BLEError.timedOut("signal strength", object: object, after: .seconds(5), waitingFor: "no answer came")
        }
        return try await reply(on: timeline, limit: (.seconds(5), limit)) { finish in
            self.bearer.radioLink.readRSSI { finish(.success($0.map(Int.init))) }
            return {}
        }
    }
}

// MARK: - The beginning and the end

extension Link {
    /// Starts the bearer, negotiates the MTU, and encrypts the link where there is a bond.
    ///
    /// - Parameters:
    ///   - keysNotRestored: why the adapter could not be given the bond's keys, where it could not.
    ///   - parameters: what the link was made with.
    func start(
        keysNotRestored: BLEError?,
        parameters: ConnectionParameters?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) {
        lifetime.end.whenEnded { [core = peripheral.core, peripheral, conditionWatch] reason in
            conditionWatch.end()
            core.connector.ended(peripheral)
            core.states.set(.disconnected(reason), of: peripheral.address)
        }
        bearer.start(raiser, kept: keptSubscriptions)
        conditionWatch.keep(parameters)
        // The MTU first: a link that ends for want of the right key has then carried something, which saves 6.1 from a
        // fault of its own.
        negotiateMTU { outcome in
            guard case .success = outcome else { return result(outcome) }
            self.protect(keysNotRestored: keysNotRestored) { outcome in
                if case .failure = outcome { self.beginClosing() }
                result(outcome)
            }
        }
    }

    private func negotiateMTU(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        // On a resumed link the peer still has the MTU of the program before us, and a client may ask once only. And it
        // may still owe that program an answer, which must not be taken for one to us.
        guard bearer.radioLink.isResumed else { return begin(ExchangeMTU(), "exchange of the MTU", result) }
        begin(SettleBearer(), "end of what an earlier program asked", result)
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

    /// Calls the closure when the link is down; at once where it is. What is returned takes that back.
    @discardableResult
    func onEnd(_ action: @escaping @Sendable (DisconnectReason) -> Void) -> @Sendable () -> Void {
        lifetime.end.whenEnded(action)
    }

    /// Drops the link without waiting for it: subscriptions are switched off first, for at most two seconds. While others
    /// use it too, it stays for them.
    func beginClosing() {
        guard share?.leave(peripheral) ?? true else { return }
        guard lifetime.beginClosing() else { return }
        peripheral.core.states.set(.disconnecting, of: peripheral.address)
        raiser.close()
        let timer = timeline.schedule(after: .seconds(2)) { [bearer] in bearer.close(DisconnectReason(.closedLocally)) }
        lifetime.end.whenEnded { _ in timer.cancel() }
        watchers.end(nil)
        bearer.unsubscribeAll { [bearer] in
            timer.cancel()
            bearer.close(DisconnectReason(.closedLocally))
        }
    }

    /// What becomes of a link that nobody waits for any more: it is up, and would stay so.
    static let giveUp: @Sendable (Link) -> Void = { $0.beginClosing() }

    /// Drops the link and waits until it is down; not disturbed by cancellation, and bounded in time. While others use it
    /// too, it stays for them, and nothing is waited for.
    func close() async {
        beginClosing()
        guard share?.leave(peripheral) ?? true else { return }
        await undisturbedReply(on: timeline, limit: (.seconds(5), ())) { finish in
            lifetime.end.whenEnded { _ in finish(()) }
        }
        await raiser.answersEnded()
        // A program may end right behind this: what it learned is to be on the disk then.
        if bearer.hasChangedMemory { await peripheral.core.store.flush(on: timeline) }
    }
}

/// Whether a link is up, and who wants to know when it is down.
final class LinkLifetime: Sendable {
    let end = Ending<DisconnectReason>()
    private let isClosing = Atomic(false)

    /// Whether this is the first wish to close a link that is still up.
    func beginClosing() -> Bool { !isClosing.exchange(true, ordering: .acquiringAndReleasing) && !end.hasEnded }
}
