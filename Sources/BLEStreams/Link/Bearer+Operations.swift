import BLEProtocol
import BLERadio
import Synchronization

/// What the program begins on a link, and what it is told in return.
extension Bearer {
    /// Begins an operation. Exactly one outcome follows, perhaps before this returns, unless the operation is cancelled
    /// first.
    ///
    /// - Parameters:
    ///   - pass: in whose name.
    ///   - refusesEnd: whether to refuse a link that has ended, or that this side is closing.
    /// - Returns: why the link has ended, if nothing was begun for that reason; no outcome follows then.
    @discardableResult
    func begin(
        _ target: LinkMachine.Target,
        pass: Pass? = nil,
        for caller: any OperationCaller,
        refusesEnd: Bool = false
    ) -> DisconnectReason? {
        let demands = surroundings.demands()
        return change { state, output in
            if refusesEnd, let end = state.machine.end ?? state.machine.closeReason { return end }
            state.machine.demands = demands
            let id = state.machine.begin(target, pass: pass, &output)
            state.calls.append(Call(id: id, caller: caller))
            return nil
        }
    }

    /// Withdraws a caller's operation: no outcome follows, unless it is already on its way.
    func cancel(_ caller: any OperationCaller) {
        // Released outside the lock: what the caller holds may end with it.
        let call = state.withLock { state in
            state.calls.firstIndex { $0.caller === caller }.map { state.calls.remove(at: $0) }
        }
        if let call { step { machine, output in machine.cancel(call.id, &output) } }
    }

    /// What a caller's operation waits for.
    func delay(of caller: any OperationCaller) -> LinkMachine.Delay {
        state.withLock { state in
            let id = state.calls.first { $0.caller === caller }?.id
            return id.map { state.machine.delay(of: $0) } ?? .answer
        }
    }

    /// Exclusive use of the link until it is released.
    struct Hold: Sendable {
        let bearer: Bearer
        let id: Pass

        /// Releases the link. Repeated calls have no effect.
        func leave() { bearer.step { machine, output in machine.leave(id, &output) } }
    }

    /// Subscribes to a characteristic; the consumer is in place before the peer is asked to send.
    ///
    /// While somebody else holds the link, this waits: it asks nothing of the peer, and delivers nothing.
    ///
    /// - Parameters:
    ///   - indications: whether to prefer indications if the characteristic has both.
    ///   - pass: in whose name.
    /// - Returns: a closure that ends the subscription.
    func subscribe(
        _ selector: CharacteristicSelector,
        indications: Bool,
        pass: Pass? = nil,
        _ consumer: ValueConsumer
    ) -> @Sendable () -> Void {
        if wouldWaitForItself(with: pass) {
            consumer.finish(.waitingForItself("notifications", consumer.object))
            return {}
        }
        let demands = surroundings.demands()
        let id = step { machine, output in
            machine.demands = demands
            return machine.subscribe(selector, indications: indications, pass: pass, consumer, &output)
        }
        guard let id else { return {} }
        return { self.step { machine, output in machine.unsubscribe(id, &output) } }
    }

    /// Ends all streams without an error, unsubscribes, and calls back when that is done.
    func unsubscribeAll(_ done: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenQuiet = done }
        step { machine, output in machine.unsubscribeAll(&output) }
    }

    // MARK: - The attributes

    /// Finds a characteristic without asking the peer; `nil` if the peer must be asked, or the link may need more
    /// security for it.
    ///
    /// - Throws: if all services are known, and it isn't among them.
    func known(_ selector: CharacteristicSelector) throws(LinkFailure) -> Characteristic? {
        let demands = surroundings.demands()
        let found: Result<Characteristic?, LinkFailure> = state.withLock { state in
            state.machine.demands = demands
            do throws(LinkFailure) { return .success(try state.machine.known(selector)) } catch {
                return .failure(error)
            }
        }
        return try found.get()
    }

    /// Whether a handle may be used at once: the program demands no security for its characteristic.
    func mayUse(_ handle: UInt16) -> Bool {
        let demands = surroundings.demands()
        if demands.isEmpty { return true }
        guard let database = knownDatabase else { return false }
        return database.characteristic(containing: handle).map { demands.level(for: $0, in: database) == nil } ?? true
    }

    /// Records what was discovered of chosen services.
    func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) { state.withLock { $0.machine.add(found, of: uuids) } }

    /// Forgets the peer's services, here and on the disk, so that the next operation discovers them again.
    func forgetDatabase() { step { machine, output in machine.forget(&output) } }

    // MARK: - What consumers are told

    func tell(_ notice: LinkMachine.Notice) {
        switch notice {
        case .begun(let consumer): consumer.begun()
        case .registered(let consumer, let characteristic): consumer.registered(characteristic)
        case .moved(let consumer): consumer.moved()
        case .armed(let consumer): consumer.armed()
        case .lost(let consumer, let count): consumer.lost(count)
        case .mayLack(let consumer): consumer.mayLack()
        case .withheld(let consumer): consumer.withheld()
        case .values(let consumer, let values): consumer.deliver(values)
        case .held(let consumer, let id): handOver(id, to: consumer)
        case .ended(let consumer, let failure): consumer.finish(failure.map { error($0, for: consumer) })
        }
    }

    /// Values that arrive meanwhile wait too, which keeps the order.
    private func handOver(_ id: LinkMachine.Subscription.ID, to consumer: ValueConsumer) {
        while let held = state.withLock({ $0.machine.takeHeld(id) }) {
            if !held.values.isEmpty { consumer.deliver(held.values) }
            if held.lost > 0 { consumer.lost(held.lost) }
            if held.mayLackMore { consumer.mayLack() }
            if held.isWithheld { consumer.withheld() }
        }
    }

    private func error(_ failure: LinkFailure, for consumer: ValueConsumer) -> BLEError {
        if case .lacksProperty(let found) = failure { return .cannotSend(found, of: peripheral) }
        return BLEError(
            failure,
            operation: "notifications",
            object: consumer.object,
            // These are the notifications of a characteristic, whether it was found or not.
            target: consumer.object,
            security: self.radioLink.security
        )
    }
}
