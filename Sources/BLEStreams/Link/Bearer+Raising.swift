import BLEProtocol
import BLERadio
import Synchronization

/// Raises a link's security for operations: connects the ``LinkMachine`` with the ``SecurityRaiser``.
extension Bearer {
    /// Makes requests and commands wait while the link is being raised.
    ///
    /// - Parameter raising: says whether it is, and how often it has been raised; called under the lock, so that of
    ///   several simultaneous calls the last one has the latest answer.
    func hold(_ raising: () -> (isUnderWay: Bool, rises: Int)) {
        step { machine, output in
            let raising = raising()
            machine.hold(raising.isUnderWay, rises: raising.rises)
            machine.subscribeToRefusedServiceChanged(&output)
        }
    }

    /// Whoever subscribes from now on gets nothing that came while the link was protected less than this.
    func dropEarly(below level: LinkSecurity.Level) { step { machine, _ in machine.early.demand(level) } }

    func carryOut(_ raise: LinkMachine.Raise) {
        switch raise {
        case .toLevel(let level, let id, let asker):
            self.raise(to: level, isRefused: false, id, answers(of: asker) ?? PairingAnswers())
        case .afterRefusal(let error, let id, let asker):
            guard raisesAfterRefusal(of: asker), let answers = answers(of: asker),
                let level = RaiseMachine.level(for: error, at: radioLink.security)
            else { return raised(id, .declined) }
            self.raise(to: level, isRefused: true, id, answers)
        case .leave(let id): state.withLock { $0.raises.removeValue(forKey: id) }?.end()
        }
    }

    func caller(of id: LinkMachine.OperationID) -> (any OperationCaller)? {
        state.withLock { $0.calls.first { $0.id == id }?.caller }
    }

    private func raisesAfterRefusal(of asker: LinkMachine.Asker) -> Bool {
        switch asker {
        case .operation(let id): caller(of: id)?.raisesAfterRefusal ?? false
        case .consumers: true
        }
    }

    private func answers(of asker: LinkMachine.Asker) -> PairingAnswers? {
        switch asker {
        case .operation(let id): caller(of: id)?.answers
        case .consumers(let consumers): consumers.lazy.compactMap { $0.answers() }.first
        }
    }

    private func raise(
        to level: LinkSecurity.Level,
        isRefused: Bool,
        _ id: LinkMachine.RaiseID,
        _ answers: PairingAnswers
    ) {
        let (raiser, wish) = state.withLock { ($0.raiser, $0.raises[id]) }
        guard let wish else { return }
        guard let raiser else { return raised(id, .declined) }
        let leave = raiser.raise(to: level, answers: answers, isRefused: isRefused) { [weak self] outcome in
            switch outcome {
            case .success: self?.raised(id, .done)
            case .failure(let error): self?.raised(id, .failed(error))
            }
        }
        wish.undo(leave)
    }

    private func raised(_ id: LinkMachine.RaiseID, _ outcome: LinkMachine.Raised) {
        let wish = state.withLock { $0.raises.removeValue(forKey: id) }
        guard wish != nil else { return }
        step { machine, output in machine.raised(id, outcome, &output) }
    }
}

extension LinkMachine.Raise {
    /// The number of the wish that begins with this step.
    var begins: LinkMachine.RaiseID? {
        switch self {
        case .toLevel(_, let id, _), .afterRefusal(_, let id, _): id
        case .leave: nil
        }
    }
}
