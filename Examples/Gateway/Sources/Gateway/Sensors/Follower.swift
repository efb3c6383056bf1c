import BLEStreams

/// Follows one peripheral: keeps a session, and publishes what it sends.
struct Follower {
    /// The most values of a characteristic that wait to be written; older ones are dropped, counted and published as a
    /// gap.
    private static let buffer = 8192
    /// The pauses after a session has failed, in seconds; the last one where a pairing has. Each attempt to pair tells
    /// whoever pretends to be the peripheral something about its passkey, and some peripherals refuse after several.
    private static let pauses = (first: 2, most: 60, mostToPair: 600)

    let peripheral: Configuration.Peripheral
    let publisher: Publisher
    let sessions: Sessions
    let troubles: Troubles
    let discovery: HomeAssistant?
    let sparkplug: SparkplugDriver?
    /// By which it may be followed; `nil`: it is this gateway's own.
    var lease: Lease?
    /// What runs beside it, for as long as there is a session.
    var beside: @Sendable (Session) async -> Void = { _ in }

    /// Follows it until the task is cancelled.
    func run(_ central: Central, _ fleet: Fleet) async {
        let session: Session
        do {
            session = fleet.add(try plan(central)) { [pairing = peripheral.pairing] link in
                if let pairing { return try await pairing.secure(link) }
                // Another configuration may have allowed it.
                link.peripheral.allowPairing(nil)
            }
        } catch {
            return publisher.report("\(peripheral.label): \(gatewayWords(for: error))")
        }
        sessions.add(peripheral.label, session, lease)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await publishStates(of: session) }
            group.addTask { await beside(session) }
            if let lease { group.addTask { await lease.listen(to: session) } }
            await follow(session)
            group.cancelAll()
        }
        sessions.remove(peripheral.label, session)
        troubles.end(of: name)
        await fleet.remove(session)
        tellRest()
    }

    /// Says what becomes of the label when the session has ended. Another device may have it, too: one of the same name
    /// that this gateway holds, whose next change may be months away.
    private func tellRest() {
        let label = peripheral.label
        while let other = sessions[label] {
            let state = other.state
            sparkplug?.device(label, isOnline: state.isReady)
            publisher.tell(state.words, of: label, isReady: state.isReady)
            // Otherwise the other one has told something newer meanwhile, which must remain.
            if sessions[label] === other, other.state == state { return }
        }
        sparkplug?.device(label, isOnline: false)
        publisher.tellUnfollowed([peripheral], isSharing: lease != nil)
    }

    /// Its label; that of one of several is followed by the address.
    private var name: String { lease.map { "\(peripheral.label) \($0.tenure.address)" } ?? peripheral.label }

    private func follow(_ session: Session) async {
        var pause = Self.pauses.first
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await publishAll(session)
                break
            } catch is CancellationError {
                break
            } catch {
                // What ends the streams of a session may be said in other words than what the session has failed with.
                let failure: any Error = session.state.failure ?? error
                troubles.tell(failure, of: name)
                // Failures that are far apart are not a row of failures.
                if start.duration(to: .now) > .seconds(2 * Self.pauses.most) { pause = Self.pauses.first }
                await wait(.seconds(pause), for: session)
                guard !Task.isCancelled else { break }
                let isOfPairing = (failure as? BLEError)?.pairingFailure != nil
                pause = min(pause * 2, isOfPairing ? Self.pauses.mostToPair : Self.pauses.most)
                try? session.reset()
            }
        }
    }

    /// Waits before a session that has failed is begun again, unless a command does that meanwhile.
    private func wait(_ pause: Duration, for session: Session) async {
        let hasFailed = session.state.failure != nil
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await Task.sleep(for: pause) }
            if hasFailed {
                group.addTask {
                    do { for try await change in session.states where change.state.failure == nil { break } } catch {}
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func plan(_ central: Central) throws -> Session.Plan {
        var plan: Session.Plan
        if let lease {
            plan = Session.Plan(lease.tenure.address)
        } else if let address = peripheral.address {
            plan = Session.Plan(try central.peripheral(address))
        } else {
            plan = Session.Plan(finding: .name(peripheral.name ?? ""), .connectable)
            plan.limits.search = nil
        }
        for subscription in peripheral.subscriptions {
            plan = plan.subscribing(to: .uuid(subscription.characteristic, in: subscription.service))
        }
        return plan
    }

    private func publishAll(_ session: Session) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for subscription in peripheral.subscriptions {
                group.addTask { try await publish(subscription, of: session) }
            }
            group.addTask {
                // Nothing else tells of a failure where nothing is subscribed to.
                for try await change in session.states {
                    if let failure = change.state.failure { throw failure }
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    // MARK: - What is published

    /// Publishes each state, until the task is cancelled: also that in which the session has failed, which ends what
    /// else follows it.
    private func publishStates(of session: Session) async {
        do {
            for try await change in session.states {
                sparkplug?.follow(session.state, of: peripheral.label)
                publish(change)
            }
        } catch {
            // Only the cancellation: nobody makes that many changes in front of a reader.
        }
    }

    private func publish(_ subscription: Configuration.Subscription, of session: Session) async throws {
        let characteristic = peripheral.characteristic(of: subscription)
        let key = CharacteristicReference.uuid(subscription.characteristic, in: subscription.service)
        var last: ReceptionTime?
        for try await item in session.notifications(of: key, buffer: .newest(Self.buffer)).withGaps() {
            switch item {
            case .value(let value):
                publish(value, characteristic, session)
                last = value.time
            case .gap(let gap): publish(gap, characteristic, session, after: last)
            }
        }
    }

    private func publish(
        _ value: CharacteristicValue,
        _ characteristic: PublishedCharacteristic,
        _ session: Session
    ) {
        let decoded = Decoders.decode(value, of: characteristic.uuid)
        guard var members = about(characteristic, session) else { return }
        members.append(("value", .hex(value)))
        if let decoded { members.append(("decoded", decoded.json)) }
        members += value.time.members
        if value.isIndication { members.append(("indication", .bool(true))) }
        let topic = "value/\(peripheral.label)/\(characteristic.topic)"
        publisher.publish(topic, .object(members))
        if let decoded { discovery?.announce(decoded, of: characteristic, from: peripheral.label, on: topic) }
        sparkplug?.publish(value, decoded, of: characteristic, from: peripheral.label)
    }

    private func publish(
        _ gap: StreamGap,
        _ characteristic: PublishedCharacteristic,
        _ session: Session,
        after last: ReceptionTime?
    ) {
        guard var members = about(characteristic, session) else { return }
        members.append(("dropped", .number(gap.dropped)))
        members.append(("seconds", .plain(gap.duration.seconds)))
        if let reason = gap.reason { members.append(("reason", .string("\(reason)"))) }
        if let last { members.append(("after", .plain(last.sinceEpoch.seconds))) }
        publisher.publish("gap/\(peripheral.label)/\(characteristic.topic)", .object(members))
    }

    private func publish(_ change: Session.Transition) {
        let trouble = troubles.follow(change, of: name)
        let cause = change.cause.map { BLEError.reworded("\($0)", about: "\(change.session)") }
        publisher.tell(
            change.state.words,
            of: peripheral.label,
            isReady: change.state.isReady,
            cause: cause,
            remedy: trouble?.ofGateway.remedy
        )
    }

    /// What each message says about its peripheral; `nil`: the gateway doesn't hold it any more.
    private func about(_ characteristic: PublishedCharacteristic, _ session: Session) -> [(String, JSONText)]? {
        guard let epoch = lease == nil ? [] : lease?.members else { return nil }
        var members: [(String, JSONText)] = [("peripheral", .string(peripheral.label))]
        if let address = session.peripheral?.address { members.append(("address", .string("\(address)"))) }
        members.append(("characteristic", .string("\(characteristic.uuid)")))
        if let service = characteristic.service { members.append(("service", .string("\(service)"))) }
        return members + epoch
    }
}
