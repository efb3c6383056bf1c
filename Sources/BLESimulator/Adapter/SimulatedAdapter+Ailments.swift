public import BLEProtocol
public import BLERadio

/// What is wrong with an adapter that claims to be on.
struct AdapterAilment: Sendable {
    enum Kind: Sendable {
        /// It scans and connects, but receives no advertisement.
        case deaf
        /// It answers no command.
        case hung
    }

    var kind: Kind
    /// Whether a new scan cures it.
    var isCuredByScan = false
    /// How often it must be switched off before it works again.
    var powerCycles = 1
}

extension SimulatedAdapter {
    /// Makes it deaf, as controllers become after hours: it scans and connects as before but receives no advertisement.
    ///
    /// - Parameter untilPowerCycle: whether only switching it off and on cures it; otherwise a new scan does.
    public func goDeaf(untilPowerCycle: Bool) {
        core.perform { state in
            // One that hangs does so until it is switched off.
            guard !state.adapters[id].isHung else { return }
            state.adapters[id].ailment = AdapterAilment(kind: .deaf, isCuredByScan: !untilPowerCycle)
        }
    }

    /// Makes it hang, as a controller's firmware does: it neither sends nor receives anything, and answers no command,
    /// until it is switched off.
    ///
    /// The peers of its links lose them at their supervision timeout. Its own program isn't told: on its side, a link
    /// stays up in silence until the program closes it, which takes up to two seconds, or the adapter is switched off.
    ///
    /// - Parameter powerCycles: how often it must be switched off before it works again; `.max`: only a reset helps.
    public func hang(powerCycles: Int = 1) {
        core.perform { state in
            state.adapters[id].ailment = AdapterAilment(kind: .hung, powerCycles: max(powerCycles, 1))
            for end in state.adapters[id].links.values.sorted(by: { $0.link < $1.link }) {
                if let link = state.links[end.link] { state.refreshSilence(of: link) }
            }
        }
    }

    public func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
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

    /// Switches it as ``powerOn()`` and ``powerOff()`` do, unless it is blocked or unplugged. Observers of the adapter
    /// are called before the result, as on Linux.
    public func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let isGivenUp = Ending<Void>()
        core.perform { state in
            let error = state.setPowered(isOn, id)
            state.outbox.append(
                .done { if !isGivenUp.hasEnded { result(error.map { .failure($0) } ?? .success(())) } }
            )
        }
        return RadioActivity { isGivenUp.end() }
    }

    /// Unplugs it as ``unplug()`` does, and plugs it in a second later, on or off as before and working, unless it was
    /// plugged in meanwhile.
    public func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        let isGivenUp = Ending<Void>()
        let error = core.perform { state in
            state.beginReset(of: id) { if !isGivenUp.hasEnded { result(.success(())) } }
        }
        if let error { return timeline.schedule(after: .zero) { result(.failure(error)) } }
        return RadioActivity { isGivenUp.end() }
    }
}

extension AirState {
    /// Switches an adapter on or off. Returns why that failed, or `nil`.
    fileprivate mutating func setPowered(_ isOn: Bool, _ adapter: AdapterID) -> BLEError? {
        let operation = isOn ? "switch on" : "switch off"
        switch adapters[adapter].state {
        case .poweredOn, .poweredOff: break
        default: return unavailable(adapter, for: operation)
        }
        if isOn, var error = silence("Set Powered", of: adapter, for: operation) {
            // To switch it off and on is what has failed.
            error.remedy = "Try again; if it fails each time, reset it with `Central.reset()`."
            setState(.poweredOn, of: adapter)
            return error
        }
        adapters[adapter].isSwitchedOffHere = !isOn
        setState(isOn ? .poweredOn : .poweredOff, of: adapter)
        return nil
    }

    /// How long an adapter is absent during a reset.
    private static let resetTime = Duration.seconds(1)

    /// Unplugs an adapter and plugs it in again later. Returns why that can't be done, or `nil`.
    ///
    /// - Parameter done: called when it is back.
    fileprivate mutating func beginReset(of adapter: AdapterID, done: @escaping @Sendable () -> Void) -> BLEError? {
        let former = adapters[adapter].state
        guard former != .absent else { return unavailable(adapter, for: "reset") }
        guard adapters[adapter].settings.canBeReset else { return .nothingToReset(adapters[adapter].name) }
        adapters[adapter].ailment = nil
        adapters[adapter].isSwitchedOffHere = false
        setState(.absent, of: adapter)
        schedule(.comeBack(adapter, former, done), at: now + Self.resetTime)
        return nil
    }

    mutating func comeBack(_ adapter: AdapterID, as state: AdapterInfo.State, _ done: @escaping @Sendable () -> Void) {
        if adapters[adapter].state == .absent { setState(state, of: adapter) }
        outbox.append(.done(done))
    }

    /// The error of a command that gets no answer, since the adapter hangs; tells its observers. `nil`: it doesn't hang.
    mutating func silence(_ command: String, of adapter: AdapterID, for operation: String) -> BLEError? {
        guard adapters[adapter].isHung else { return nil }
        for observer in adapters[adapter].symptomObservers {
            outbox.append(.symptom(.unanswered(command), observer.events))
        }
        return .controllerSilent(adapters[adapter].name, operation: operation)
    }
}

extension BLEError {
    fileprivate static func nothingToReset(_ adapter: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: "reset",
            object: adapter,
            cause: "only USB devices can be reset, and this is not one",
            remedy: "Set `AdapterSettings.canBeReset`."
        )
    }

    fileprivate static func controllerSilent(_ adapter: String, operation: String) -> BLEError {
        BLEError(
            .timedOut,
            operation: operation,
            object: adapter,
            cause: "the controller does not answer",
            remedy: "Switch it off and on with `Central.powerCycle()`."
        )
    }
}
