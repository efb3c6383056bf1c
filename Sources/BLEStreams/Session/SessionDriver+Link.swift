import BLEProtocol
import BLERadio

/// The steps with a link.
extension SessionDriver {
    /// Sets a link up as planned, and then does what arises, until the link ends.
    func use(_ link: Link) async throws {
        guard try await prepare(link) else { return }
        while true {
            switch session.state.kind {
            case .ready, .reading, .writing: break
            default: return
            }
            let next: Next = try await until {
                // A failed operation has made the session drop it: its end is not this driver's news any more.
                if self.session.link !== link { return .left }
                if let end = self.latest.linkEnd { return .ended(end) }
                // It is being given up: nothing can be done on it, and its end is told once it is down.
                if link.isEnding { return nil }
                if self.session.channels.hasUnwanted { return .unsubscribe }
                return self.session.channels.pending.first.map { .subscribe($0.subscription, $0.isPlanned) }
            }
            switch next {
            case .left: return
            case .ended(let reason):
                // Unless a failed operation makes the session drop it at the same moment.
                return offer(latest.trigger(forEnd: reason))
            case .subscribe(let subscription, let isPlanned):
                try await inTurn(on: link) { await subscribeMeanwhile(subscription, isPlanned, link) }
            case .unsubscribe:
                // Also if this task is cancelled while it waits: the values are not needed.
                var taken: SessionChannels.Unwanted?
                defer { (taken ?? session.channels.takeUnwanted())?.cancel() }
                try await inTurn(on: link) {
                    taken = session.channels.takeUnwanted()
                    if let taken { handle(.unsubscribe("\(taken.subscription)")) }
                }
            }
        }
    }

    /// Runs the closure in a turn among the session's operations and commands, unless the link ends before it comes:
    /// the closure of an operation may keep its turn for long, and even wait for the next link.
    private func inTurn(on link: Link, _ body: () async -> Void) async throws {
        let leave: @Sendable () -> Void
        do {
            leave = try await session.turns.enter(on: core.timeline) { report in
                link.onEnd { _ in report(LinkHasEnded()) }
            }
        } catch is LinkHasEnded {
            return
        }
        defer { leave() }
        guard session.state.isReady, latest.linkEnd == nil else { return }
        await body()
    }

    /// There is nothing more to do in a turn on the link.
    private struct LinkHasEnded: Error {}

    private enum Next {
        case left
        case ended(DisconnectReason)
        case subscribe(Session.Subscription, Bool)
        case unsubscribe
    }

    /// Takes all steps up to ready; returns whether it is.
    private func prepare(_ link: Link) async throws -> Bool {
        guard session.state.kind == .idle else { return session.state.isReady }
        if plan.mustDiscover, try await !discover(link) { return false }
        guard try await initialised(link) else { return false }
        for (subscription, isPlanned) in session.channels.pending where plan.mustDiscover {
            guard session.state.kind.phase == .connected else { return false }
            // A stream that began after the characteristics were found gets its turn once the session is ready.
            if session.state.kind == .servicesReady { break }
            guard try await subscribe(subscription, isPlanned, link) else { return false }
        }
        handle(.becomeReady)
        session.keep()
        return true
    }

    // MARK: - Discovery

    private func discover(_ link: Link) async throws -> Bool {
        handle(.discoverServices)
        do {
            let database = try await link.discover(within: plan.limits.discover)
            for service in plan.requiredServices where database.service(service) == nil {
                handle(.notFound(.lacksService(service, link.peripheral)))
                return false
            }
            handle(.servicesDiscovered(fromCache: link.servicesAreRemembered))
            return findCharacteristics(in: database, on: link)
        } catch let error as BLEError {
            handle(latest.trigger(forFailureOnLink: error, or: .discoveryFailed(error)))
            return false
        }
    }

    /// Finds the characteristics to subscribe to. If one is missing, its stream ends; if the plan requires it, the
    /// session fails.
    private func findCharacteristics(in database: GATTDatabase, on link: Link) -> Bool {
        let peripheral = link.peripheral
        for (subscription, isPlanned) in session.channels.pending {
            let found = subscription.characteristic.selector.find(in: database).mapError { failure in
                let object = "of \(subscription) of \(peripheral)"
                return BLEError(failure, operation: "notifications", object: object, target: object, security: .none)
            }
            switch found {
            case .success(let characteristic):
                handle(.discoverCharacteristics)
                let properties = characteristic.properties
                if isPlanned, !properties.contains(.notify), !properties.contains(.indicate) {
                    handle(.notSupported(.cannotSend(characteristic, of: peripheral.address)))
                    return false
                }
                handle(.characteristicDiscovered(characteristic.uuid))
            case .failure(let error) where isPlanned:
                handle(.discoverCharacteristics)
                handle(.notFound(error))
                return false
            // What is remembered may be wrong: that it can't be subscribed to then has the services discovered again.
            case .failure where link.servicesAreRemembered: break
            case .failure(let error):
                session.channels.refuse(subscription, error)
            }
        }
        return true
    }

    // MARK: - The program's own first steps

    private func initialised(_ link: Link) async throws -> Bool {
        do {
            let (limit, begin) = (plan.limits.initialise, core.timeline.now)
            // It says itself why it has failed if that ends the link.
            if let level = plan.security { try await link.secure(to: level, timeout: limit) }
            try await deadline(limit, since: begin, on: link) { [session] in
                let steps = FirstSteps(of: session)
                defer { steps.end.end() }
                do {
                    try await Session.$firstSteps.withValue(steps) { try await session.initialise(link) }
                } catch let error as BLEError {
                    throw FirstStepsFailure(error: error)
                }
            }
            return true
        } catch let failure as FirstStepsFailure {
            handle(try await trigger(for: failure, on: link))
        } catch let error as BLEError {
            handle(latest.trigger(forFailureOnLink: error, or: .initialisationFailed(error)))
        } catch is CancellationError where Task.isCancelled {
            throw CancellationError()
        } catch {
            let failure = BLEError(
                .ended,
                operation: "initialise",
                object: "\(link.peripheral)",
                // By its type only: its content may be secret.
                cause: "the program's first steps on the link failed: `initialise` threw \(type(of: error))",
                remedy: "Catch that error in the closure, or throw a BLEError that says what to do."
            )
            handle(latest.trigger(forFailureOnLink: failure, or: .initialisationFailed(failure)))
        }
        return false
    }

    /// What the program's closure has thrown: it may be about something else than this link.
    private struct FirstStepsFailure: Error {
        let error: BLEError
    }

    /// The closure may also use other links and adapters, whose end says nothing about this link or its adapter.
    private func trigger(for failure: FirstStepsFailure, on link: Link) async throws -> SessionState.Trigger {
        let error = failure.error
        let failed = SessionState.Trigger.initialisationFailed(error)
        // The error doesn't say which adapter is lost. If it is this one, news of that may still be on its way.
        if isUp(link), case .adapterLost = latest.trigger(forFailureOnLink: error, or: failed) {
            try await pause(SessionNews.adapterDelay)
        }
        return isUp(link) ? failed : latest.trigger(forFailureOnLink: error, or: failed)
    }

    /// Whether nothing has told that the link or its adapter is lost.
    private func isUp(_ link: Link) -> Bool { !link.isEnding && latest.unusableAdapter == nil }

    /// Runs the closure, and cancels it if it takes too long, or if the link ends: steps that don't use the link, such
    /// as a person's answer, would not notice.
    private func deadline(
        _ limit: Duration,
        since begin: Duration,
        on link: Link,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (timeline, object) = (core.timeline, "\(session)")
        let rest = max(begin + limit - timeline.now, .zero)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                let over = Ending<Void>()
                defer { over.end() }
                let end = try await reply(on: timeline) {
                    (finish: @escaping @Sendable (Result<DisconnectReason?, any Error>) -> Void) in
                    let timer = timeline.schedule(after: rest) { finish(.success(nil)) }
                    over.undo { timer.cancel() }
                    over.undo(link.onEnd { finish(.success($0)) })
                    return { over.end() }
                }
                if let end { throw BLEError.linkEnded(end, operation: "initialise", object: object) }
                throw BLEError.timedOut(
                    "initialise",
                    object: object,
                    after: limit,
                    waitingFor: "the program's first steps on the link did not end"
                )
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    // MARK: - Subscriptions

    /// Makes a subscription before the session is ready; returns whether the session can continue.
    private func subscribe(
        _ subscription: Session.Subscription,
        _ isPlanned: Bool,
        _ link: Link
    ) async throws -> Bool {
        handle(.subscribe)
        do {
            try await switchOn(subscription, link)
            session.channels.switchedOn(subscription)
            handle(.subscribed("\(subscription)"))
            return true
        } catch let error as BLEError {
            return refused(subscription, isPlanned, error)
        } catch let error as NoLongerNeeded {
            return refused(subscription, isPlanned, error.error, tellsStreams: false)
        }
    }

    /// The last stream of a subscription has ended while that was being made. Another one may have begun since then: it
    /// is not refused, and its turn comes.
    private struct NoLongerNeeded: Error {
        let error: BLEError
    }

    /// Makes a subscription for a stream while the session is ready.
    private func subscribeMeanwhile(
        _ subscription: Session.Subscription,
        _ isPlanned: Bool,
        _ link: Link
    ) async {
        if let isOn = try? await subscribe(subscription, isPlanned, link), isOn, session.state.kind != .ready {
            handle(.becomeReady)
        }
    }

    /// Whether the session can continue without it.
    private func refused(
        _ subscription: Session.Subscription,
        _ isPlanned: Bool,
        _ error: BLEError,
        tellsStreams: Bool = true
    ) -> Bool {
        let trigger: SessionState.Trigger
        switch (isPlanned, error.code) {
        case (false, _): trigger = .subscriptionRefused(error)
        case (true, .notFound): trigger = .notFound(error)
        case (true, .notSupported): trigger = .notSupported(error)
        case (true, _): trigger = .subscriptionFailed(error)
        }
        let decided = latest.trigger(forFailureOnLink: error, or: trigger)
        handle(decided)
        let goesOn = decided.kind == .subscriptionRefused && session.state.kind.phase == .connected
        // On the next link, it could not be made either.
        let isLasting = !isPlanned && error.code == .securityFailed && error.isFinal
        if tellsStreams, goesOn || isLasting { session.channels.refuse(subscription, error) }
        return goesOn
    }

    /// Returns when the peripheral has confirmed the subscription.
    private func switchOn(_ subscription: Session.Subscription, _ link: Link) async throws {
        let channels = session.channels
        let object = "of \(subscription) of \(link.peripheral)"
        let limit = plan.limits.subscribe
        let timedOut: @Sendable () -> any Error = {
            BLEError.timedOut("subscribe", object: object, after: limit, waitingFor: "the peer did not answer")
        }
        let unwanted = BLEError(.ended, operation: "subscribe", object: object, cause: "it is no longer needed")
        try await reply(on: core.timeline, limitOnceBegun: (limit, timedOut)) {
            (
                begun: @escaping @Sendable () -> Void,
                finish: @escaping @Sendable (Result<Void, any Error>) -> Void
            ) in
            let consumer = ValueConsumer(
                object: object,
                deliver: { channels.deliver($0, of: subscription) },
                lost: { channels.lost($0, of: subscription) },
                mayLack: { channels.mayLack(subscription) },
                withheld: { channels.withheld(subscription, .ofWithheldValues(of: object)) },
                finish: { error in
                    finish(.failure(error ?? unwanted))
                    // May happen long after the subscription. The end of the link is told elsewhere.
                    if let error, error.reason == nil { channels.ended(subscription, because: error) }
                },
                begun: begun,
                moved: { channels.moved(subscription, because: .subscriptionMoved(object)) },
                armed: {
                    channels.confirmed(subscription)
                    finish(.success(()))
                },
                answers: link.whoAnswers
            )
            let cancel = link.bearer.subscribe(
                subscription.characteristic.selector,
                indications: subscription.indications,
                consumer
            )
            // The consumer may leave meanwhile; nothing else would report that.
            channels.keep(
                {
                    cancel()
                    finish(.failure(NoLongerNeeded(error: unwanted)))
                },
                of: subscription
            )
            return cancel
        }
    }
}

extension BLEError {
    fileprivate static func lacksService(_ uuid: BluetoothUUID, _ peripheral: Peripheral) -> BLEError {
        BLEError(
            .notFound,
            operation: "session",
            object: "service \(uuid) of \(peripheral)",
            cause: "the peripheral has no such service",
            remedy: "List its services with Link.discover()."
        )
    }
}
