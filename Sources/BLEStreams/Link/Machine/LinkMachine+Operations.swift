import BLEProtocol

extension LinkMachine {
    /// Begins an operation as soon as the lane admits it. It ends exactly once, unless it is cancelled first.
    ///
    /// - Parameter pass: in whose name.
    mutating func begin(_ target: consuming Target, pass: Pass? = nil, _ output: inout Output) -> OperationID {
        lastOperation += 1
        let id = lastOperation
        let kind = target.kind
        var (place, isGranted): (LaneOrder.ID?, Bool) = (nil, true)
        switch kind {
        case .aside: break
        case .hold: (place, isGranted) = lane.beginHold()
        case .attributes, .subscription: (place, isGranted) = lane.beginOperation(pass: pass)
        }
        operations.append(Operation(id: id, target: copy target, place: place))
        if isGranted { enter(id, target.content, &output) }
        return id
    }

    /// Ends an operation without an outcome, at any stage; one that has ended is ignored.
    mutating func cancel(_ id: OperationID, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        let (stage, place) = (operations[index].stage, operations[index].place)
        operations.remove(at: index)
        switch stage {
        case .waiting, .finding: break
        case .raising(let raise, _): output.add { $0.raises.append(.leave(raise)) }
        case .running(let procedure):
            withdraw(procedure)
            take(client.cancel(procedure), &output)
        }
        leave(place, &output)
    }

    /// Releases a place in the lane. Repeated calls have no effect.
    mutating func leave(_ place: LaneOrder.ID?, _ output: inout Output) {
        if let place { admit(lane.end(place), &output) }
    }

    /// Begins the operations whose turn it is.
    mutating func admit(_ granted: [LaneOrder.ID], _ output: inout Output) {
        for place in granted {
            guard let operation = operations.first(where: { $0.place == place }) else { continue }
            enter(operation.id, operation.target.content, &output)
        }
    }

    /// The place of an operation; `nil` if it has ended. Their numbers ascend, so of thousands it is found in a few
    /// steps.
    func index(of id: OperationID) -> Int? {
        var (low, high) = (0, operations.count)
        // The last one, or the only one, in one.
        if high > 0, operations[high - 1].id == id { return high - 1 }
        while low < high {
            let middle = (low + high) / 2
            if operations[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < operations.count && operations[low].id == id ? low : nil
    }

    /// What an operation waits for; an answer, if it has ended.
    func delay(of id: OperationID) -> Delay {
        guard let index = index(of: id) else { return .answer }
        switch operations[index].stage {
        case .waiting: return .turn
        case .raising: return .security
        case .finding: return client.isHeld ? .security : .answer
        case .running(let procedure):
            if client.isHeld { return .security }
            return client.isWaitingCommand(procedure) ? .room : .answer
        }
    }

    // MARK: - From its turn to its procedure

    private mutating func enter(_ id: OperationID, _ content: consuming Content, _ output: inout Output) {
        switch content {
        case .aside(let procedure): run(procedure, id, &output)
        case .handles(let procedure): secure(procedure, id, &output)
        case .characteristic, .find, .switchOff: find(id, &output)
        case .subscribe(let subscriber):
            if let entry = subscriptions[subscriber] { output.tell(.begun(entry.consumer)) }
            find(id, &output)
        case .database(let limit):
            if let limit { output.add { $0.limits.append(Limit(id: id, duration: limit)) } }
            know(id, &output)
        case .hold: run(SlotBarrier(), id, &output)
        case .unsubscribe(let subscriber, let handle):
            guard let index = index(of: id) else { return }
            let place = operations.remove(at: index).place
            unsubscribe(subscriber, from: handle, place, &output)
        }
    }

    /// Makes the link as secure as demanded for what a procedure reads or writes.
    private mutating func secure(_ procedure: any GATTProcedure, _ id: OperationID, _ output: inout Output) {
        guard !demands.isEmpty else { return use(procedure, id, &output) }
        // A search names nothing.
        if procedure.handles.isEmpty, procedure.attributeType == nil { return use(procedure, id, &output) }
        know(id, &output)
    }

    /// Runs a procedure whose handles refer to the present database.
    mutating func use(_ procedure: any GATTProcedure, _ id: OperationID, _ output: inout Output) {
        if let index = index(of: id) { operations[index].database = tracker.current }
        run(procedure, id, &output)
    }

    /// Finds the characteristic that an operation names.
    mutating func find(_ id: OperationID, _ output: inout Output) {
        guard let selector = selector(of: id) else { return }
        if tracker.current == nil, case .success(let found) = selector.find(in: chosen.database) {
            return use(found, id, &output)
        }
        know(id, &output)
    }

    /// The selector of the characteristic that an operation names; `nil` if it names none.
    func selector(of id: OperationID) -> CharacteristicSelector? {
        switch index(of: id).map({ operations[$0].target.content }) {
        case .characteristic(let selector, _, _)?, .find(let selector)?: selector
        case .subscribe(let subscriber)?: subscriptions[subscriber]?.selector
        case .switchOff(let handle, _)?: .handle(handle)
        default: nil
        }
    }

    /// Continues once the peer's services are known.
    mutating func know(_ id: OperationID, _ output: inout Output) {
        if let database = tracker.current { return known(database, id, &output) }
        if let end { return finish(id, .failure(.search(.disconnected(end))), &output) }
        guard let index = index(of: id) else { return }
        operations[index].rises = rises
        operations[index].stage = .finding
        take(tracker.want(), &output)
    }

    /// The peer's services are known.
    mutating func known(_ database: GATTDatabase, _ id: OperationID, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        if case .handles(let procedure) = operations[index].target.content {
            return known(database, for: procedure, index, &output)
        }
        guard let selector = selector(of: id) else { return finish(id, .success(.other(database)), &output) }
        switch selector.find(in: database) {
        case .success(let found): use(found, id, &output)
        case .failure(.notFound) where tracker.mayBeIncomplete:
            operations[index].stage = .finding
            take(tracker.missed(), &output)
        case .failure(let failure): finish(id, .failure(failure), &output)
        }
    }

    private mutating func known(
        _ database: GATTDatabase,
        for procedure: any GATTProcedure,
        _ index: Int,
        _ output: inout Output
    ) {
        let id = operations[index].id
        guard operations[index].hasRepeated else {
            let level = demands.level(for: procedure, in: database)
            if let level { return raise(to: level, for: nil, id, &output) }
            return use(procedure, id, &output)
        }
        // A search is correct whatever the handles mean.
        if procedure.handles.isEmpty { return run(procedure, id, &output) }
        // Without discovery on this link, the handles are from an earlier one, and correct if nothing has changed
        // since.
        let isSame =
            operations[index].database
            .map { former in procedure.handles.allSatisfy { former.means($0, theSameAs: database) } }
            ?? tracker.isFromMemory
        if isSame { run(procedure, id, &output) } else { finish(id, .failure(.servicesChanged), &output) }
    }

    /// A characteristic was found: raises the link if the program demands that for it.
    private mutating func use(_ found: Characteristic, _ id: OperationID, _ output: inout Output) {
        let isSwitchOff = index(of: id).map { operations[$0].target.isSwitchOff } ?? false
        if !isSwitchOff, !demands.isEmpty,
            let level = demands.level(for: found, in: tracker.current ?? chosen.database)
        {
            return raise(to: level, for: found, id, &output)
        }
        proceed(with: found, id, &output)
    }

    mutating func proceed(with found: Characteristic, _ id: OperationID, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        switch operations[index].target.content {
        case .characteristic(_, let properties, let make):
            guard properties.isEmpty || !found.properties.isDisjoint(with: properties) else {
                return finish(id, .failure(.lacksProperty(found)), &output)
            }
            let procedure = make(found)
            operations[index].procedure = procedure
            run(procedure, id, &output)
        case .subscribe(let subscriber):
            if client.isResumed, asks(about: found, for: id, &output) { return }
            let place = operations.remove(at: index).place
            arm(subscriber, found, place, &output)
        case .switchOff(_, let uuid):
            let place = operations.remove(at: index).place
            switchOff(found, ifIs: uuid, place, &output)
        default: finish(id, .success(.other(found)), &output)
        }
    }

    mutating func run(_ procedure: any GATTProcedure, _ id: OperationID, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        var step = GATTClient.Output()
        let number = client.begin(procedure, &step)
        operations[index].rises = rises
        operations[index].stage = .running(number)
        let kind = operations[index].kind
        purposes.append((number, .operation(id)))
        take(&step, &output)
        if kind == .attributes { settle(&output) }
    }

    // MARK: - From its procedure to its end

    mutating func ended(
        _ id: OperationID,
        _ result: Result<GATTSuccess, GATTFailure>,
        _ output: inout Output
    ) {
        guard let index = index(of: id) else { return }
        let failure: GATTFailure
        switch result {
        case .success where operations[index].kind == .hold: return granted(index, &output)
        case .success(let value): return finish(id, .success(value), &output)
        case .failure(let reason): failure = reason
        }
        guard operations[index].kind == .attributes else {
            if failure.isOutOfSync, operations[index].kind != .subscription { outOfSync(&output) }
            return finish(id, .failure(.procedure(failure)), &output)
        }
        if let refused = failure.refused { return self.refused(id, failure, refused, &output) }
        guard failure == .databaseChanged || failure.isOutOfSync, !operations[index].hasRepeated else {
            if failure.isOutOfSync { outOfSync(&output) }
            return finish(id, .failure(.procedure(failure, wasRaised: operations[index].hasRaised)), &output)
        }
        operations[index].hasRepeated = true
        operations[index].stage = .waiting
        if failure.isOutOfSync { outOfSync(&output) }
        if case .handles = operations[index].target.content { know(id, &output) } else { find(id, &output) }
    }

    /// The hold has the link: its place is its pass, and stays until it is released.
    private mutating func granted(_ index: Int, _ output: inout Output) {
        let hold = operations.remove(at: index)
        guard let place = hold.place else { return }
        output.finished.append(Finished(id: hold.id, result: .success(.other(place))))
    }

    mutating func finish(
        _ id: OperationID,
        _ result: Result<GATTSuccess, LinkFailure>,
        _ output: inout Output
    ) {
        guard let index = index(of: id) else { return }
        let place = operations[index].place
        if operations[index].kind == .subscription {
            if case .running = operations[index].stage { return told(index, result, &output) }
            let target = operations.remove(at: index).target
            if case .subscribe(let subscriber) = target.content, let failure = result.failure {
                fail([subscriber], failure, &output)
            }
            if target.isSwitchOff { tellQuiet(&output) }
        } else {
            operations.remove(at: index)
            output.finished.append(Finished(id: id, result: result))
        }
        leave(place, &output)
    }
}

extension GATTFailure {
    var isOutOfSync: Bool {
        if case .attribute(.databaseOutOfSync, _) = self { true } else { false }
    }

    /// The peer's error, if it refuses because the link isn't secure enough.
    var refused: ATTError? {
        if case .attribute(let error, _) = self, error.isOfSecurity { error } else { nil }
    }
}

/// Does nothing when its turn comes: then nothing begun before is in progress any more.
private struct SlotBarrier: GATTProcedure {
    func start(_ context: GATTContext) throws(GATTFailure) -> GATTStep<Void> { .finished(()) }
}
