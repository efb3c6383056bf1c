import BLEProtocol

/// Raises the link's security for operations: before an operation if the program requires it, and once after a refusal.
extension LinkMachine {
    /// Raises the link before an operation continues; if the level is already reached, it continues immediately.
    mutating func raise(
        to level: LinkSecurity.Level,
        for found: Characteristic?,
        _ id: OperationID,
        _ output: inout Output
    ) {
        guard let index = index(of: id) else { return }
        lastRaise += 1
        operations[index].stage = .raising(lastRaise, .demanded(level, found))
        operations[index].database = tracker.current
        output.add { $0.raises.append(.toLevel(level, lastRaise, asker(of: index))) }
    }

    /// The peer has refused an operation because the link isn't secure enough.
    mutating func refused(_ id: OperationID, _ failure: GATTFailure, _ error: ATTError, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        let isInDoubt = operations[index].stage.isRunning(upTo: doubted.procedure)
        // The link was raised since the operation began, for another one.
        if operations[index].rises != rises { return again(id, isInDoubt: isInDoubt, &output) }
        guard !operations[index].hasRaised else {
            return finish(id, .failure(.procedure(failure, wasRaised: true)), &output)
        }
        lastRaise += 1
        if isInDoubt { doubted.raise = lastRaise }
        operations[index].stage = .raising(lastRaise, .refused(failure))
        output.add { $0.raises.append(.afterRefusal(error, lastRaise, asker(of: index))) }
    }

    /// The services that an operation waits for could not be discovered. If the peer has refused that because the link
    /// isn't secure enough, the link is raised, and they are looked for once more.
    mutating func searchFailed(_ id: OperationID, _ failure: GATTFailure, _ output: inout Output) {
        // What nobody wants any more is worth no pairing.
        guard let error = failure.refused, let index = index(of: id), !operations[index].target.isSwitchOff else {
            return finish(id, .failure(.search(failure)), &output)
        }
        // The link was raised since the search began, for another operation.
        if operations[index].rises != rises { return searchAgain(id, &output) }
        guard !operations[index].hasRaisedForSearch else {
            return finish(id, .failure(.search(failure)), &output)
        }
        lastRaise += 1
        operations[index].stage = .raising(lastRaise, .unlisted(failure))
        output.add { $0.raises.append(.afterRefusal(error, lastRaise, asker(of: index))) }
    }

    private mutating func searchAgain(_ id: OperationID, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        operations[index].stage = .waiting
        if selector(of: id) == nil { know(id, &output) } else { find(id, &output) }
    }

    private func asker(of index: Int) -> Asker {
        if case .subscribe(let subscriber) = operations[index].target.content, let entry = subscriptions[subscriber] {
            return .consumers([entry.consumer])
        }
        return .operation(operations[index].id)
    }

    private mutating func again(_ id: OperationID, isInDoubt: Bool, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        if isInDoubt { return findAgain(id, &output) }
        if let procedure = operations[index].procedure {
            run(procedure, id, &output)
        } else if case .handles(let procedure) = operations[index].target.content {
            run(procedure, id, &output)
        }
    }

    /// Continues an operation whose handles may have come to mean something else while the link was raised. Nothing was
    /// carried out: this isn't the one time that an operation is repeated.
    private mutating func findAgain(_ id: OperationID, _ output: inout Output) {
        guard let index = index(of: id) else { return }
        operations[index].stage = .waiting
        guard case .handles = operations[index].target.content else { return find(id, &output) }
        // The caller's handles are compared with what they meant.
        operations[index].hasRepeated = true
        know(id, &output)
    }

    /// A request to raise the link has ended; a withdrawn one is ignored.
    mutating func raised(_ raise: RaiseID, _ outcome: Raised, _ output: inout Output) {
        if let refused = raising.removeValue(forKey: raise) { return raised(refused, outcome, &output) }
        guard let index = operations.firstIndex(where: { $0.stage.isRaising(raise) }),
            case .raising(_, let cause) = operations[index].stage
        else { return }
        let id = operations[index].id
        // A subscriber has waited for it beyond the end of the link.
        if let end, operations[index].kind == .subscription, !outcome.isFailure {
            return finish(id, .failure(.ended(end)), &output)
        }
        let isInDoubt = raise <= doubted.raise
        switch (cause, outcome) {
        case (.demanded, .done) where isInDoubt: findAgain(id, &output)
        case (.demanded(let level, let found?), .done):
            // Anybody may have sent what came before.
            early.drop(below: level, of: found.valueHandle)
            proceed(with: found, id, &output)
        case (.demanded(_, nil), .done):
            if case .handles(let procedure) = operations[index].target.content { use(procedure, id, &output) }
        case (.demanded(let level, _), .failed(let error)):
            finish(id, .failure(.demand(level, because: error)), &output)
        case (.refused, .done):
            operations[index].hasRaised = true
            again(id, isInDoubt: isInDoubt, &output)
        case (.refused(let failure), .failed(let error)):
            finish(id, .failure(.notRaised(failure, because: error)), &output)
        case (.refused(let failure), .declined): finish(id, .failure(.procedure(failure)), &output)
        case (.unlisted, .done):
            operations[index].hasRaisedForSearch = true
            searchAgain(id, &output)
        case (.unlisted(let failure), .failed(let error)):
            finish(id, .failure(.notRaised(failure, because: error)), &output)
        case (.unlisted(let failure), .declined): finish(id, .failure(.search(failure)), &output)
        case (.demanded, .declined):
            let reason = end ?? DisconnectReason(.closedLocally)
            finish(id, .failure(.procedure(.disconnected(reason))), &output)
        }
    }

    // MARK: - Subscriptions

    /// The peer has refused a subscription.
    mutating func refused(
        _ configuration: Configuration,
        _ failure: GATTFailure,
        _ error: ATTError,
        _ output: inout Output
    ) {
        if configuration.rises != rises { return again(configuration, failure, &output) }
        guard !configuration.hasRaised else { return answered(configuration, .failure(failure), &output) }
        let handle = configuration.write.valueHandle
        let consumers = subscriptions.sorted { $0.key < $1.key }.map(\.value)
            .filter { $0.characteristic?.valueHandle == handle }.map(\.consumer)
        guard !consumers.isEmpty else {
            // The link's own subscription is no reason to pair: it is made again once the link is raised for another.
            if table.hasSubscriber(Self.own, valueHandle: handle) { refusedServiceChanged = rises }
            return answered(configuration, .failure(failure), &output)
        }
        lastRaise += 1
        raising[lastRaise] = RefusedConfiguration(configuration: configuration, failure: failure)
        output.add { $0.raises.append(.afterRefusal(error, lastRaise, .consumers(consumers))) }
    }

    private mutating func raised(_ refused: RefusedConfiguration, _ outcome: Raised, _ output: inout Output) {
        if let end { return raised(refused, outcome, behind: end, &output) }
        switch outcome {
        case .done: again(refused.configuration, refused.failure, hasRaised: true, &output)
        case .failed(let error):
            answered(refused.configuration, .failure(refused.failure), because: error, &output)
        case .declined: answered(refused.configuration, .failure(refused.failure), &output)
        }
    }

    /// The link has ended meanwhile: its subscribers have waited for this alone.
    private mutating func raised(
        _ refused: RefusedConfiguration,
        _ outcome: Raised,
        behind end: DisconnectReason,
        _ output: inout Output
    ) {
        let handle = refused.configuration.write.valueHandle
        let subscribers = subscriptions.filter { $0.value.characteristic?.valueHandle == handle }.map(\.key)
        var failure = LinkFailure.ended(end)
        if case .failed(let error) = outcome { failure = .notRaised(refused.failure, because: error) }
        fail(subscribers.sorted(), failure, &output)
    }

    /// Writes again, unless the handle now refers to something else.
    private mutating func again(
        _ configuration: Configuration,
        _ failure: GATTFailure,
        hasRaised: Bool? = nil,
        _ output: inout Output
    ) {
        guard table.isUnderWay(configuration.write) else {
            return answered(configuration, .failure(failure), &output)
        }
        // The services may have changed while the link was raised: it is written once the handle is known.
        if table.isInDoubt(configuration.write.valueHandle) {
            table.withhold(configuration.write)
            return rest(configuration.place, &output)
        }
        let hasRaised = hasRaised ?? configuration.hasRaised
        carryOut(configuration.write, configuration.place, hasRaised: hasRaised, &output)
        registerAgain(behind: configuration.write, &output)
    }

    /// Withdraws the requests of subscribers that have left.
    mutating func giveUpRaises(_ output: inout Output) {
        guard !raising.isEmpty else { return }
        let handles = Set(subscriptions.values.compactMap { $0.characteristic?.valueHandle })
        for (raise, refused) in raising where !handles.contains(refused.configuration.write.valueHandle) {
            raising[raise] = nil
            output.add { $0.raises.append(.leave(raise)) }
            answered(refused.configuration, .failure(.cancelled), &output)
        }
    }
}

extension LinkMachine.Raised {
    fileprivate var isFailure: Bool { if case .failed = self { true } else { false } }
}

extension LinkMachine.Stage {
    /// Whether its link is being raised for it.
    var isRaising: Bool { if case .raising = self { true } else { false } }

    fileprivate func isRaising(_ raise: LinkMachine.RaiseID) -> Bool {
        if case .raising(raise, _) = self { true } else { false }
    }

    /// Whether its procedure has at most this number.
    fileprivate func isRunning(upTo number: UInt64) -> Bool {
        if case .running(let procedure) = self { procedure.number <= number } else { false }
    }
}
