import BLEProtocol
import BLERadio
import Synchronization

/// What the program begins on a link, and what it is told.
extension Bearer {
    /// Begins an operation; exactly one outcome comes, perhaps before this returns, unless it is cancelled before.
    ///
    /// - Parameters:
    ///   - pass: in whose name.
    ///   - refusesEnd: whether nothing is begun on a link that is over, or is being closed by this side.
    /// - Returns: why the link is over, where nothing was begun for that; no outcome comes then.
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

    /// Takes a caller's operation back: no outcome comes any more, unless that is under way.
    func cancel(_ caller: any OperationCaller) {
        // Let go of outside the lock: what it holds may end with it.
        let call = state.withLock { state in
            state.calls.firstIndex { $0.caller === caller }.map { state.calls.remove(at: $0) }
        }
        if let call { step { machine, output in machine.cancel(call.id, &output) } }
    }

    /// Has nobody else use the link until it is given back.
    struct Hold: Sendable {
        let bearer: Bearer
        let id: Pass

        /// Lets the next one in. Idempotent.
        func leave() { bearer.step { machine, output in machine.leave(id, &output) } }
    }

    /// Subscribes to a characteristic; the consumer is in place before the peer is asked to send.
    ///
    /// While somebody else holds the link this waits: nothing is asked of the peer, and nothing delivered.
    ///
    /// - Parameters:
    ///   - indications: whether indications are preferred where the characteristic has both.
    ///   - pass: in whose name.
    /// - Returns: a closure that takes the subscription back.
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

    /// Ends all streams without an error, switches off what is on, and calls back when that is done.
    func unsubscribeAll(_ done: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenQuiet = done }
        step { machine, output in machine.unsubscribeAll(&output) }
    }

    // MARK: - The attributes

    /// Finds a characteristic without asking the peer; `nil` where that must be asked, or the link may have to be more secure
    /// for it.
    ///
    /// - Throws: where everything is known, and it isn't there.
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

    /// Whether a handle may be used at once: the program demands nothing of the link for what it is.
    func mayUse(_ handle: UInt16) -> Bool {
        let demands = surroundings.demands()
        if demands.isEmpty { return true }
        guard let database = knownDatabase else { return false }
        return database.characteristic(containing: handle).map { demands.level(for: $0, in: database) == nil } ?? true
    }

    /// Takes note of what was discovered of chosen services.
    func add(_ found: GATTDatabase, of uuids: [BluetoothUUID]) { state.withLock { $0.machine.add(found, of: uuids) } }

    /// Forgets what is known, here and on the disk, so that the next operation discovers afresh.
    func forgetDatabase() { step { machine, output in machine.forget(&output) } }

    // MARK: - What consumers are told

    func tell(_ notice: LinkMachine.Notice) {
        switch notice {
        case .registered(let consumer, let characteristic): consumer.registered(characteristic)
        case .armed(let consumer): consumer.armed()
        case .lost(let consumer, let count): consumer.lost(count)
        case .held(let consumer, let id): handOver(id, to: consumer)
        case .ended(let consumer, let failure): consumer.finish(failure.map { error($0, for: consumer) })
        }
    }

    /// What comes meanwhile waits too, so the order stays.
    private func handOver(_ id: LinkMachine.Subscription.ID, to consumer: ValueConsumer) {
        while let held = state.withLock({ $0.machine.takeHeld(id) }) {
            if !held.values.isEmpty { consumer.deliver(held.values) }
            if held.lost > 0 { consumer.lost(held.lost) }
        }
    }

    private func error(_ failure: LinkFailure, for consumer: ValueConsumer) -> BLEError {
        if case .lacksProperty(let found) = failure { return .cannotSend(found, of: peripheral) }
        return BLEError(
            failure,
            operation: "notifications",
            object: consumer.object,
            target: consumer.target,
            security: self.radioLink.security
        )
    }
}
