import BLEProtocol

/// The subscriptions of a link, from the wish to its end.
extension LinkMachine {
    /// Begins a subscription as soon as the lane admits it; the subscriber is in place before the peer is asked to
    /// send.
    ///
    /// - Parameters:
    ///   - indications: whether to prefer indications if the characteristic has both.
    ///   - pass: in whose name.
    /// - Returns: the number that ends it; `nil` if it has ended at once, since the link has ended or is being closed.
    mutating func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool,
        pass: Pass?,
        _ consumer: ValueConsumer,
        _ output: inout Output
    ) -> Subscription.ID? {
        if let reason = closedToSubscribers {
            output.tell(.ended(consumer, .ended(reason)))
            return nil
        }
        lastSubscription += 1
        let id = lastSubscription
        subscriptions[id] = Subscription(
            consumer: consumer,
            selector: selector,
            prefersIndications: indications,
            pass: pass
        )
        _ = begin(.subscribe(id), pass: pass, &output)
        return id
    }

    /// Ends a subscription; the consumer hears nothing more. One that has ended is ignored.
    mutating func unsubscribe(_ id: Subscription.ID, _ output: inout Output) {
        guard let entry = subscriptions.removeValue(forKey: id) else { return }
        if end != nil { giveUpRaises(&output) }
        guard let handle = entry.characteristic?.valueHandle, end == nil else {
            let beginning = operations.first { if case .subscribe(id) = $0.target.content { true } else { false } }
            if let beginning { cancel(beginning.id, &output) }
            return
        }
        leaving += 1
        removeRoute(id, entry.consumer, handle)
        giveUpRaises(&output)
        _ = begin(.unsubscribe(id, handle), pass: entry.pass, &output)
    }

    /// It is the turn of a subscriber that has left.
    mutating func unsubscribe(
        _ id: Subscription.ID,
        from handle: UInt16,
        _ place: LaneOrder.ID?,
        _ output: inout Output
    ) {
        leaving -= 1
        carryOut(table.remove(id, valueHandle: handle), place, &output)
    }

    // MARK: - Switching on and off

    /// Makes the peer send a characteristic's values to a subscriber, if it still wants them.
    ///
    /// - Parameter place: the place in the lane to release when that is done; `nil` after a change of services, which
    ///   waits for nobody.
    mutating func arm(
        _ id: Subscription.ID,
        _ characteristic: Characteristic,
        _ place: LaneOrder.ID?,
        _ output: inout Output
    ) {
        guard let entry = subscriptions[id] else { return leave(place, &output) }
        subscriptions[id]?.characteristic = characteristic
        let properties = characteristic.properties
        let configuration: SubscriptionTable.Configuration
        switch (properties.contains(.notify), properties.contains(.indicate)) {
        case (true, let both): configuration = both && entry.prefersIndications ? .indicate : .notify
        case (false, true): configuration = .indicate
        case (false, false):
            fail([id], .lacksProperty(characteristic), &output)
            return leave(place, &output)
        }
        let handle = characteristic.valueHandle
        let wasSent = unclaimed.handles[handle] != nil
        unclaimed.handles[handle] = nil
        let descriptor = characteristic.clientConfiguration?.handle
        let write = table.add(id, valueHandle: handle, descriptorHandle: descriptor, configuration)
        let mustWait = table.isBeingSwitchedOff(id, valueHandle: handle)
        subscriptions[id]?.awaitsSwitchOff = mustWait
        if wasSent { subscriptions[id]?.wasSent = true }
        if !mustWait { addRoute(id, handle, wasSent: wasSent, &output) }
        carryOut(write, place, &output)
        if write == nil { tellArmed(handle, &output) }
        if !mustWait { output.tell(.registered(entry.consumer, characteristic)) }
        settle(&output)
    }

    /// Routes values to those who have subscribed while the peer was told to stop sending, once it has answered, and
    /// the write that makes it send again is queued.
    ///
    /// What it sent before it stopped would be followed by a hole that nobody could tell; and what is read now is read
    /// behind that write.
    private mutating func admitBehindSwitchOff(_ output: inout Output) {
        for (id, entry) in subscriptions.sorted(by: { $0.key < $1.key }) where entry.awaitsSwitchOff {
            guard let found = entry.characteristic,
                !table.isBeingSwitchedOff(id, valueHandle: found.valueHandle)
            else { continue }
            subscriptions[id]?.awaitsSwitchOff = false
            addRoute(id, found.valueHandle, wasSent: false, &output)
            output.tell(.registered(entry.consumer, found))
        }
    }

    /// Writes what the table asks for, until it asks for nothing more; then releases the place.
    ///
    /// - Parameter hasRaised: whether the link was made more secure for it.
    mutating func carryOut(
        _ write: SubscriptionTable.Write?,
        _ place: LaneOrder.ID?,
        hasRaised: Bool = false,
        _ output: inout Output
    ) {
        guard let write else { return rest(place, &output) }
        let value = write.configuration.rawValue
        let octets = [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
        let (id, step) = client.begin(WriteValue(handle: write.descriptorHandle, value: octets))
        let configuration = Configuration(write: write, place: place, rises: rises, hasRaised: hasRaised)
        purposes.append((id, .configuration(configuration)))
        take(step, &output)
        admitBehindSwitchOff(&output)
    }

    /// Makes the postponed writes. Where none is needed, since the peer was not told to stop sending, who has waited for
    /// one is told that the peer sends its values.
    mutating func resume(_ output: inout Output) {
        for write in table.resume() {
            carryOut(write, nil, &output)
            registerAgain(behind: write, &output)
        }
        for (id, entry) in subscriptions.sorted(by: { $0.key < $1.key }) where !entry.knowsThatArmed {
            tellArmed(id, entry, &output)
        }
    }

    /// Who has waited for a write is registered again behind it once it is made or repeated: what has been read meanwhile
    /// was read before the peer sends anything.
    mutating func registerAgain(behind write: SubscriptionTable.Write, _ output: inout Output) {
        for (id, entry) in subscriptions.sorted(by: { $0.key < $1.key }) where !entry.awaitsSwitchOff {
            guard let found = entry.characteristic, found.valueHandle == write.valueHandle,
                !table.isArmed(id, valueHandle: found.valueHandle)
            else { continue }
            output.tell(.registered(entry.consumer, found))
        }
    }

    /// There is nothing more to do for now: releases the place, and tells whoever waits for the end.
    mutating func rest(_ place: LaneOrder.ID?, _ output: inout Output) {
        admitBehindSwitchOff(&output)
        leave(place, &output)
        tellQuiet(&output)
    }

    mutating func tellQuiet(_ output: inout Output) {
        guard wantsQuiet, !table.isBusy, leaving == 0, !operations.contains(where: \.target.isSwitchOff) else { return }
        wantsQuiet = false
        output.add { $0.isQuiet = true }
    }

    /// The peer has answered a write, or the write was not made.
    mutating func configured(
        _ configuration: Configuration,
        _ outcome: Result<GATTSuccess, GATTFailure>,
        _ output: inout Output
    ) {
        let write = configuration.write
        switch outcome {
        case .failure(.databaseChanged):
            if table.postponed(write) { return rest(configuration.place, &output) }
        case .failure(let failure) where failure.isOutOfSync:
            let waits = table.postponed(write)
            outOfSync(&output)
            if waits { return rest(configuration.place, &output) }
        case .failure(let failure):
            if let error = failure.refused { return refused(configuration, failure, error, &output) }
        case .success: break
        }
        answered(configuration, outcome.map { _ in }, &output)
    }

    /// - Parameter error: why the link could not be made secure enough, if that was the cause.
    mutating func answered(
        _ configuration: Configuration,
        _ outcome: Result<Void, GATTFailure>,
        because error: BLEError? = nil,
        _ output: inout Output
    ) {
        let write = configuration.write
        let (failed, next) = table.written(write, succeeded: outcome.failure == nil)
        if let failure = outcome.failure {
            fail(failed, error.map { .notRaised(failure, because: $0) } ?? .procedure(failure), &output)
        }
        tellArmed(write.valueHandle, &output)
        carryOut(next, configuration.place, &output)
    }

    /// Tells the subscribers of a characteristic, each once, that the peer sends their values from now on.
    private mutating func tellArmed(_ valueHandle: UInt16, _ output: inout Output) {
        for (id, entry) in subscriptions.sorted(by: { $0.key < $1.key })
        where entry.characteristic?.valueHandle == valueHandle && !entry.knowsThatArmed {
            tellArmed(id, entry, &output)
        }
    }

    private mutating func tellArmed(_ id: Subscription.ID, _ entry: Subscription, _ output: inout Output) {
        guard let handle = entry.characteristic?.valueHandle, table.isArmed(id, valueHandle: handle) else { return }
        subscriptions[id]?.knowsThatArmed = true
        output.tell(.armed(entry.consumer))
    }

    mutating func fail(_ ids: [Subscription.ID], _ failure: LinkFailure, _ output: inout Output) {
        for id in ids {
            guard let entry = subscriptions.removeValue(forKey: id) else { continue }
            if let handle = entry.characteristic?.valueHandle { removeRoute(id, entry.consumer, handle) }
            letGo(entry, &output)
            output.tell(.ended(entry.consumer, failure))
        }
    }

    // MARK: - The end

    /// Ends all streams without an error, and unsubscribes; ``Rest/isQuiet`` tells when that is done.
    mutating func unsubscribeAll(_ output: inout Output) {
        if closedToSubscribers == nil { closedToSubscribers = DisconnectReason(.closedLocally) }
        for (id, entry) in subscriptions {
            letGo(entry, &output)
            output.tell(.ended(entry.consumer, nil))
            unsubscribe(id, &output)
        }
        switchOffUnclaimed(isLast: true, &output)
        wantsQuiet = true
        tellQuiet(&output)
    }

    /// The link has ended: every stream ends with the reason. One for which the link is being raised ends with that, as
    /// an operation does: why it fails may be why the link has ended, and says what to do.
    mutating func endSubscriptions(_ reason: DisconnectReason, _ output: inout Output) {
        let waiting = subscribersBeingRaised()
        for (id, entry) in subscriptions where !waiting.contains(id) {
            subscriptions[id] = nil
            letGo(entry, &output)
            output.tell(.ended(entry.consumer, .ended(reason)))
        }
        table = SubscriptionTable()
        routes = [:]
        operations.removeAll { $0.kind == .subscription && !$0.stage.isRaising }
        leaving = 0
        closedToSubscribers = reason
        tellQuiet(&output)
    }

    /// The subscribers for which the link is being raised.
    private mutating func subscribersBeingRaised() -> Set<Subscription.ID> {
        var waiting: Set<Subscription.ID> = []
        for operation in operations where operation.stage.isRaising {
            if case .subscribe(let id) = operation.target.content { waiting.insert(id) }
        }
        for refused in raising.values {
            waiting.formUnion(table.written(refused.configuration.write, succeeded: false).failed)
        }
        return waiting
    }
}
