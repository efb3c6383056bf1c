public import BLEProtocol
public import BLERadio

/// What is wrong with an adapter that claims to be on.
struct AdapterAilment: Sendable {
    enum Kind: Sendable {
        /// Scans and connects, and hears nobody.
        case deaf
        /// Answers no command.
        case hung
    }

    var kind: Kind
    /// Whether a scan that begins cures it.
    var isCuredByScan = false
    /// After how often it was switched off it is well again.
    var powerCycles = 1
}

extension SimulatedAdapter {
    /// Makes it deaf, as controllers get after hours: it scans and connects as before, and hears no advertisement.
    ///
    /// - Parameter untilPowerCycle: whether it takes switching it off and on to cure it; else a scan that begins does.
    public func goDeaf(untilPowerCycle: Bool) {
        core.perform { $0.adapters[id].ailment = AdapterAilment(kind: .deaf, isCuredByScan: !untilPowerCycle) }
    }

    /// Makes it hang, as a controller's firmware does: it hears nothing, and answers no command, until it was switched off.
    ///
    /// - Parameter powerCycles: how often it must be switched off before it is well.
    public func hang(powerCycles: Int = 1) {
        core.perform { $0.adapters[id].ailment = AdapterAilment(kind: .hung, powerCycles: max(powerCycles, 1)) }
    }

    public func observeSymptoms(_ events: @escaping @Sendable (AdapterSymptom) -> Void) -> RadioActivity {
        let observer = core.perform { state in
            state.nextConditionObserver += 1
            state.adapters[id].symptomObservers.append((state.nextConditionObserver, events))
            return state.nextConditionObserver
        }
        return RadioActivity { [core, id] in
            _ = core.perform { state in
                state.adapters[id].symptomObservers.firstIndex { $0.id == observer }
                    .map { state.adapters[id].symptomObservers.remove(at: $0).events }
            }
        }
    }

    /// Switches it as ``powerOn()`` and ``powerOff()`` do, unless it is blocked or unplugged.
    public func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let error = core.perform { $0.setPowered(isOn, id) }
        return timeline.schedule(after: .zero) { result(error.map { .failure($0) } ?? .success(())) }
    }
}

extension AirState {
    /// Switches an adapter; answers why that couldn't be done.
    fileprivate mutating func setPowered(_ isOn: Bool, _ adapter: AdapterID) -> BLEError? {
        let operation = isOn ? "switch on" : "switch off"
        switch adapters[adapter].state {
        case .poweredOn, .poweredOff: break
        default: return unavailable(adapter, for: operation)
        }
        if isOn, adapters[adapter].ailment?.kind == .hung {
            leaveUnanswered("Set Powered", by: adapter)
            setState(.poweredOn, of: adapter)
            return .controllerSilent(adapters[adapter].name, operation: operation)
        }
        setState(isOn ? .poweredOn : .poweredOff, of: adapter)
        return nil
    }

    /// Tells whoever watches an adapter that it doesn't answer.
    mutating func leaveUnanswered(_ command: String, by adapter: AdapterID) {
        for observer in adapters[adapter].symptomObservers {
            outbox.append(.symptom(.unanswered(command), observer.events))
        }
    }
}

extension BLEError {
    static func controllerSilent(_ adapter: String, operation: String = "scan") -> BLEError {
        BLEError(
            .timedOut,
            operation: operation,
            object: adapter,
            cause: "the controller does not answer",
            remedy: "Switch it off and on."
        )
    }
}
